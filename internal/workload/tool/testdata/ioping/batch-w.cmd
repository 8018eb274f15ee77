ioping -B -W -c 10 -i 0 .
