written in the form of redis-benchmark 7
