written in the form of sysbench 0.4.12, oltp, read only
