head -c 5000 t.cpio | cpio -t
