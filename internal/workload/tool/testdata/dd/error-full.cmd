dd if=/dev/zero of=/dev/full bs=1M count=3
# exit status 1
