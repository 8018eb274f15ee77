dd if=/dev/zero of=d.tmp bs=1M count=256 status=progress oflag=dsync
