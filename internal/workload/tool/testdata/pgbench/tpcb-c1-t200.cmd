pgbench -n -c 1 -t 200 bench
