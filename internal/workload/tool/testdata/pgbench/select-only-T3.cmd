pgbench -n -S -c 2 -T 3 bench
