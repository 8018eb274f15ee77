iozone -t 2 -s 4m -r 64k
