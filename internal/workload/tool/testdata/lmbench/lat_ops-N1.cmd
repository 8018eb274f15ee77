lat_ops -N 1
