stream -N 1 -M 2M
