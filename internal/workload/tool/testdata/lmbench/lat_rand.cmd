lat_rand -N 1
