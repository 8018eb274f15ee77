lat_syscall -N 1 write l.tmp
