iozone -l 1 -u 2 -s 4m -r 64k -i 0 -i 1
