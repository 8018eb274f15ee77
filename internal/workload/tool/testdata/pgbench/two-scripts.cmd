pgbench -n -b select-only@3 -b tpcb-like@1 -t 100 -r bench
