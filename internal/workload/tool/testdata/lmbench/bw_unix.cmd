bw_unix -N 1
