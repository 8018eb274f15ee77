pgbench -n -r -t 100 bench
