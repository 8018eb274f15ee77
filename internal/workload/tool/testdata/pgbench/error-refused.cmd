pgbench -h 127.0.0.1 -p 25433 -t 10 bench
