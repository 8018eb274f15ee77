LC_ALL=cs_CZ.UTF-8; export LC_ALL; time dd if=/dev/zero bs=1M of=data1/dd.tmp count=100
