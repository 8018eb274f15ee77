time dd if=d.tmp of=/dev/null bs=4k
