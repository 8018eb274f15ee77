iozone -s 4m -r 4k -i 0 -i 3 -i 5 -j 4 -f iozone.tmp
