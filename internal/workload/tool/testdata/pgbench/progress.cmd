pgbench -n -N -T 3 -P 1 bench
