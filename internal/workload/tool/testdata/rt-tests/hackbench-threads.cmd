hackbench -T -g 2 -l 200 -s 512
