bw_mmap_rd -N 1 4M open2close l.tmp
