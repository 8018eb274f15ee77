iozone -a -O -n 256k -g 512k -i 0 -i 1 -f iozone.tmp
