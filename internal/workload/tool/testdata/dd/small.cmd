dd if=/dev/zero of=/dev/null bs=10 count=1
