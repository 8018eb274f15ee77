ioping -R -w 1 d.tmp
