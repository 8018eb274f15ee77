pgbench -i -s 10 -q
