sysbench fileio --file-num=4 --file-total-size=32M --file-test-mode=rndwr --time=1 run
