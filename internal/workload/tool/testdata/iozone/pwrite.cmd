iozone -a -s 1m -r 64k -i 0 -i 9 -i 10 -f iozone.tmp
