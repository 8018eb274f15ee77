/usr/bin/time -v dd if=d.tmp of=/dev/null bs=64k
