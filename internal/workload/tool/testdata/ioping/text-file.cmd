ioping -c 5 -i 0.01 d.tmp
