mkdir -p y && time (find tree | cpio -pdmu y)
