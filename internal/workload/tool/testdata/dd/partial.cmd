head -c 1500000 /dev/zero | dd of=/dev/null bs=1M
