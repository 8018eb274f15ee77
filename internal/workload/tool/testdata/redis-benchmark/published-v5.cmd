published output of redis-benchmark 5
