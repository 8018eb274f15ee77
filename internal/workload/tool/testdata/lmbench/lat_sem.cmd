lat_sem -N 1
