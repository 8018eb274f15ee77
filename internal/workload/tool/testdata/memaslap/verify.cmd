memcaslap -s 127.0.0.1:28111 -T 1 -c 4 -x 20000 -v 1.0 -w 1k -X 100
