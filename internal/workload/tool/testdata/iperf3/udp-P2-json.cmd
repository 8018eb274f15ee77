iperf3 -c 127.0.0.1 -p 5777 -u -b 20M -t 1 -P 2 -J
