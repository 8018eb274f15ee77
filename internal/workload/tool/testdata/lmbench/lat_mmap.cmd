lat_mmap -N 1 4M l.tmp
