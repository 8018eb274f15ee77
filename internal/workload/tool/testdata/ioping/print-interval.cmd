ioping -q -P 0.2 -w 1 -i 0.01 d.tmp
