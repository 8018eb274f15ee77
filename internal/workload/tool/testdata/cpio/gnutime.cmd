find tree | /usr/bin/time cpio -o > /dev/null
