netperf -p 23865 -H 127.0.0.1 -t TCP_RR -l 1
