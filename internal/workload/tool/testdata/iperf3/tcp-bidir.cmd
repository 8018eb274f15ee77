iperf3 -c 127.0.0.1 -p 5777 -t 1 --bidir
