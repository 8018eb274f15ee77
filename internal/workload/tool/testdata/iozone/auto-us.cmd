iozone -a -N -n 256k -g 256k -i 0 -i 1 -i 2 -f iozone.tmp
