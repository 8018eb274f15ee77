sysbench cpu --time=2 --rate=100 --threads=2 --report-interval=1 run
