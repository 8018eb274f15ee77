pgbench -n -t 20 --max-tries=3 --failures-detailed -c 2 bench
