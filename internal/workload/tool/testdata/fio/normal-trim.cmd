fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=randtrim --ioengine=null
