memcaslap -s 127.0.0.1:28111 -T 1 -c 1 -x 5000 -w 1k -d 10
