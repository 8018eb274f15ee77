sysbench cpu --threads=1 --events=150 --bogus run
# exit status 1
