lat_usleep -N 1 100
