perl ./Run -i 1 -c 1 -c 2 pipe
