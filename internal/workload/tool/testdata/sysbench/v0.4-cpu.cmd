sysbench --test=cpu --cpu-max-prime=20000 run
# composed after the documentation of that version
