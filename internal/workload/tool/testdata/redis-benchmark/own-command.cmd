redis-benchmark -p 26379 -n 2000 -c 3 --csv incrby counter 3
