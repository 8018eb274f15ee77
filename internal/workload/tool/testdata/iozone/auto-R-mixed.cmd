iozone -Ra -n 64k -g 256k -f iozone.tmp
