redis-benchmark -p 26379 -t set -n 5000 --threads 2 -P 8
