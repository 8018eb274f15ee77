pgbench -n -c 4 -j 2 -t 50 bench
