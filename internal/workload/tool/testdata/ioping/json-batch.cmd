ioping -J -B -c 6 -i 0.01 d.tmp
