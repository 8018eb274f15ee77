ioping -t 5us -T 20ms -a 0 -c 8 -i 0.01 d.tmp
