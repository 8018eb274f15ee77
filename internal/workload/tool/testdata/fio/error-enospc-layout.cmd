fio --name=tare --filename=fio.dat --rw=randread --bs=2M --size=64M --direct=1 --ioengine=sync --thread --group_reporting --fallocate=none
# exit status 1
