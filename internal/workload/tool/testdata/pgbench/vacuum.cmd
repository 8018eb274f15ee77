pgbench -t 20 -M prepared bench
