iperf3 -c 127.0.0.1 -p 5999 -t 2 -u -b 10M --json-stream
