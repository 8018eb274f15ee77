sysbench --test=memory --memory-total-size=1G run
# composed after the documentation of that version
