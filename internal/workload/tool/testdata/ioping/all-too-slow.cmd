ioping -T 1us -a 0 -c 4 -i 0.01 d.tmp
