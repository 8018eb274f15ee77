sysbench cpu --time=2 --histogram --percentile=50 run
