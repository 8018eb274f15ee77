sysbench fileio --file-num=4 --file-total-size=32M --file-test-mode=rndrw --time=3 --report-interval=1 --histogram run
