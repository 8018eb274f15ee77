bw_mmap_rd -N 1 4M mmap_only l.tmp
