time (find tree | cpio -ov > /dev/null)
