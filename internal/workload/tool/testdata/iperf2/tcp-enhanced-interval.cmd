iperf -c 127.0.0.1 -p 5888 -t 2 -i 1 -e -P 2
