dd if=/dev/zero of=/dev/null bs=1M count=10 status=noxfer
