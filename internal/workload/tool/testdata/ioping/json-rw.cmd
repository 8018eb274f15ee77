ioping -J -G -c 6 -i 0.01 -S 1m .
