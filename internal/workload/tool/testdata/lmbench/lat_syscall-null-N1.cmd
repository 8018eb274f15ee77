lat_syscall -N 1 null l.tmp
