written in the form of pgbench 9.4 with -r and -P
