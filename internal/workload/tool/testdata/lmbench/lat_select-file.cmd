lat_select -N 1 -n 10 file
