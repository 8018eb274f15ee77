ioping -b 3 -c 6 -i 0.01 d.tmp
