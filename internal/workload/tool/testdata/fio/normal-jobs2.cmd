fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=randwrite --numjobs=2
