mbw -n 2 -t 1 8
