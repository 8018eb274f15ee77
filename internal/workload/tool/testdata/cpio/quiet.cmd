time (find tree | cpio -o --quiet > /dev/null)
