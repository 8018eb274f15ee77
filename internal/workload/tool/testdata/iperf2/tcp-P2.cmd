iperf -c 127.0.0.1 -p 5888 -t 1 -P 2
