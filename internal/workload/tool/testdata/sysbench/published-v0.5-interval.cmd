published output of sysbench 0.5, the end of a run
