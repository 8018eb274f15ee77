fio --name=j --filename=f.tmp --size=8m --bs=64k --rw=randrw --unified_rw_reporting=mixed --output-format=json
