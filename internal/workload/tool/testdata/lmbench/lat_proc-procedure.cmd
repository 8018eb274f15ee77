lat_proc -N 1 procedure
