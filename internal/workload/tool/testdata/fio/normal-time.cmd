fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=randread --time_based --runtime=1 --ioengine=libaio --iodepth=4
