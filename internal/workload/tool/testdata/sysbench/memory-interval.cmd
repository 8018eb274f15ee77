sysbench memory --memory-total-size=100T --time=3 --report-interval=1 --memory-access-mode=rnd run
