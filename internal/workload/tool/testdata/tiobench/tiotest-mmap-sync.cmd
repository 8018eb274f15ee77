tiotest -M -S -t 1 -f 2 -r 20 -d d
