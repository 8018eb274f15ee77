iperf -c 127.0.0.1 -p 5899 -u -t 1 -b 10m -P 2
