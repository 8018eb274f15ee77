stream -v 2 -N 1 -M 2M
