mbw -a -n 3 8
