lat_mem_rd -N 1 1 64 128
