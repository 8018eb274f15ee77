lat_fs -N 1 .
