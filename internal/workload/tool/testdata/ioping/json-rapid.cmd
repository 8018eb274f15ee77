ioping -J -R -w 0.5 d.tmp
