sysbench memory --memory-oper=none --memory-total-size=64M --time=5 run
