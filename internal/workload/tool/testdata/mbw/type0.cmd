mbw -q -n 3 -t 0 8
