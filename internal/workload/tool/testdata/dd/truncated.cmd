head -c 1500 /dev/zero | dd of=/dev/null bs=1k conv=noerror,sync
