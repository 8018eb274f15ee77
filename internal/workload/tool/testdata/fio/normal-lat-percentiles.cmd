fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=randread --lat_percentiles=1 --slat_percentiles=1 --ioengine=libaio --iodepth=4
