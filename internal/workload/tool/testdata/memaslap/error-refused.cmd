memcaslap -s 127.0.0.1:28999 -T 1 -c 1 -x 100
