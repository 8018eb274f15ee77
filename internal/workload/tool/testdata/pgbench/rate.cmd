pgbench -n -S -T 3 -R 50 -L 10 bench
