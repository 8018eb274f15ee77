redis-benchmark -p 26379 -t ping,incr,lrange_100 -n 5000 -q
