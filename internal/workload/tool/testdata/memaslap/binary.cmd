memcaslap -s 127.0.0.1:28111 -T 1 -c 2 -t 2s -w 1k -B -v 0.1
