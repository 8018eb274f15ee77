netperf -p 23865 -H 127.0.0.1 -t UDP_STREAM -l 1 -- -m 1400
