ioping -q -p 5 -c 15 -i 0.01 d.tmp
