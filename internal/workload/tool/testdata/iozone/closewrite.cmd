iozone -ce -s 4m -r 64k -i 0 -i 1 -f iozone.tmp
