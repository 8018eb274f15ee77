written in the form of sysbench 1.0 of 2016, files
