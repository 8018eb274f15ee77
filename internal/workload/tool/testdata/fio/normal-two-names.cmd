fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=read --name=k --filename=f.tmp --rw=write --size=4m --bs=4k
