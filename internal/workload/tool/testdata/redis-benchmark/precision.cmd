redis-benchmark -p 26379 -t get -n 3000 --precision 2
