ioping -J -c 5 -i 0 .
