sysbench --test=oltp --mysql-user=root run
# composed after the documentation of that version
