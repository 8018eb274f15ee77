sysbench threads --threads=4 --time=2 --report-interval=1 run
