bw_file_rd -N 1 4M open2close l.tmp
