iozone -+u -t 2 -s 4m -r 64k -i 0
