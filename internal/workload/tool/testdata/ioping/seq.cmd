ioping -RL -w 1 d.tmp
