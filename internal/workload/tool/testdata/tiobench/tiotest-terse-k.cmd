tiotest -T -k 1 -k 3 -t 2 -f 8 -d d
