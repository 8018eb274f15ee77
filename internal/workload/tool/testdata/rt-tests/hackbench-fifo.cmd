hackbench -F -g 2 -l 100
