lat_ctx -N 1 -s 16 2 4 ; lat_ctx -N 1 -s 0 2
