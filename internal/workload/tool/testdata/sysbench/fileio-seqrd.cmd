sysbench fileio --file-num=4 --file-total-size=32M --file-test-mode=seqrd --time=1 run
