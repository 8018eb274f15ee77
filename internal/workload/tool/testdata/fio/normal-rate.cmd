fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=write --rate=8m --status-interval=500ms
