fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=randread --percentile_list=50:99:99.99
