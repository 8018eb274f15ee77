lat_syscall -N 1 fstat l.tmp
