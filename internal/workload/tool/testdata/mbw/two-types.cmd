mbw -n 2 -t0 -t2 8
