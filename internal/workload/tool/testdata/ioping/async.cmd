ioping -A -D -c 4 -i 0 d.tmp
