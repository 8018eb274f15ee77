sysbench fileio --file-num=4 --file-total-size=32M --file-test-mode=rndrw run
# composed after the documentation of that version
