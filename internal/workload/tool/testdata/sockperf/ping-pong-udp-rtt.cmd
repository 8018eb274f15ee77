sockperf ping-pong -i 127.0.0.1 -p 11111 -m 64 -t 2 --full-rtt
