pgbench -n -f /tmp/f.sql -t 10 bench
