lat_syscall -N 1 stat l.tmp
