tiotest -t 1 -f 1 -d /none
