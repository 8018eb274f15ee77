written in the form of sysbench 0.5, oltp
