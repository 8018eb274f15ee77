published output of pgbench 9.6 to 13
