written in the form of pgbench 17
