bw_mem -N 1 512K frd
