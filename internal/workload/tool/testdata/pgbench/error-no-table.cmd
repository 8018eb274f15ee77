pgbench -n -t 10 postgres
