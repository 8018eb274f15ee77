written in the form of pgbench 12, of which a client aborted
