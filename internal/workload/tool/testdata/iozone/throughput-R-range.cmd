iozone -R -l 1 -u 3 -s 2m -r 64k -i 0 -i 1
