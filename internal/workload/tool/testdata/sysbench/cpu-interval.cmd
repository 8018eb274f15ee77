sysbench cpu --threads=2 --time=3 --report-interval=1 --percentile=99 run
