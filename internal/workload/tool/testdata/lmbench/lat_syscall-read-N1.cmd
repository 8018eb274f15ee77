lat_syscall -N 1 read l.tmp
