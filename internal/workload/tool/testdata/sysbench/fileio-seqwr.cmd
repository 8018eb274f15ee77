sysbench fileio --file-num=4 --file-total-size=32M --file-test-mode=seqwr --time=1 run
