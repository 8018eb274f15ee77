netperf -p 23865 -H 127.0.0.1 -t TCP_STREAM -i 3,3 -I 95,5 -c -l 1
