sysbench mutex --threads=2 --mutex-locks=1000 --histogram run
