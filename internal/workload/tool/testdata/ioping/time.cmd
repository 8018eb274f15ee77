ioping -I -c 3 -i 0.01 d.tmp
