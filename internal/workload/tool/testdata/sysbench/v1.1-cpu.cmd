sysbench cpu run
# composed after the documentation of that version
