rm -f data1/dd.tmp; for i in 1 2; do time dd if=/dev/zero bs=1024k of=data1/dd.tmp count=100; done
