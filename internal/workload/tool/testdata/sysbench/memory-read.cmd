sysbench memory --memory-oper=read --memory-block-size=4K --memory-total-size=1G --time=5 run
