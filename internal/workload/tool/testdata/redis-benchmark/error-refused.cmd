redis-benchmark -p 26380 -n 10
