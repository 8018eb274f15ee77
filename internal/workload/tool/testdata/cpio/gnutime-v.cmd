find tree | /usr/bin/time -v cpio -o > /dev/null
