sysbench cpu --time=1 --percentile=0 run
