lat_connect -s; lat_connect -N 1 127.0.0.1; lat_connect -S 127.0.0.1
