redis-benchmark -p 26379 -t set,get -n 20000 -c 1 -r 100000 -d 100 --csv
