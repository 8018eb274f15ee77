lmdd if=internal of=l2.tmp bs=64k count=64 fsync=1
