tiotest -L -t 2 -f 8 -r 200 -d d
