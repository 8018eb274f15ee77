ioping -B -c 10 -i 0 d.tmp
