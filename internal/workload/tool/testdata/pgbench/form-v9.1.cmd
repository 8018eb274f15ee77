written in the form of pgbench 9.0 to 9.3
