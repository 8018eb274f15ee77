ioping -C -c 3 -i 0 /tmp
