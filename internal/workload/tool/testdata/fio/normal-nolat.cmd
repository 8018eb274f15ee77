fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=read --disable_lat=1 --disable_clat=1 --disable_slat=1
