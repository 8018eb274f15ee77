fio --name=tare --filename=fio.dat --rw=randwrite --bs=2M --size=64M --direct=1 --ioengine=sync --thread --group_reporting --output-format=json
# exit status 1
