memcaslap -s 127.0.0.1:28111 -T 1 -c 1 -x 60000 -w 1k -S 1s -o 0.5 -e 0.1 -v 0.5
