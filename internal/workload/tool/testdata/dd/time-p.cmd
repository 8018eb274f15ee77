time -p dd if=d.tmp of=/dev/null bs=64k
