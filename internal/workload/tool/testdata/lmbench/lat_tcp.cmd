lat_tcp -s; lat_tcp -N 1 127.0.0.1; lat_tcp -S 127.0.0.1
