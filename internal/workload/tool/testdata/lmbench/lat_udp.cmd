lat_udp -s; lat_udp -N 1 127.0.0.1; lat_udp -S 127.0.0.1
