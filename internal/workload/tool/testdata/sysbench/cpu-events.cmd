time sysbench cpu --threads=1 --events=150 --time=0 run
