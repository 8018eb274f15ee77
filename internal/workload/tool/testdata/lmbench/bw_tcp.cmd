bw_tcp -s; bw_tcp -N 1 127.0.0.1; bw_tcp -S 127.0.0.1
