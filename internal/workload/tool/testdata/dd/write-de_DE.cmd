LC_ALL=de_DE.UTF-8 dd if=/dev/zero bs=1M of=data1/dd.tmp count=100
