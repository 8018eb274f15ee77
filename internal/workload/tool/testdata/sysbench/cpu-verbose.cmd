sysbench cpu --time=1 --verbosity=5 --debug=on run
