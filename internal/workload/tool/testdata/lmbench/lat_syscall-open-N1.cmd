lat_syscall -N 1 open l.tmp
