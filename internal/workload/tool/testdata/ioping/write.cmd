ioping -W -c 5 -i 0 -S 1m .
