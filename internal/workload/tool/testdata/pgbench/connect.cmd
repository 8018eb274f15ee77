pgbench -n -C -t 20 -S bench
