iozone -t 2 -s 8m -r 64k -i 0 -i 1 -i 2
