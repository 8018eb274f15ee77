redis-benchmark -p 26379 -t set,get -n 5000 -c 10
