sysbench --test=fileio --file-total-size=2G --file-test-mode=rndrw run
# composed after the documentation of that version
