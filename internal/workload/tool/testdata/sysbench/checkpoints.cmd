sysbench cpu --time=3 --report-checkpoints=1,2 run
