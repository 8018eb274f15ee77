for i in 1 2 3; do dd if=d.tmp of=/dev/null bs=1M; done
