memcaslap -s 127.0.0.1:28111 -T 1 -c 50 -x 100000 -w 1k -X 100 -v 1.0
