ioping -q -c 20 -i 0 .
