fio --name=tare --filename=fio.dat --size=268435456 --io_size=67108864 --bs=2M --direct=1 --ioengine=sync --iodepth=1 --thread --numjobs=1 --group_reporting --output-format=json --rw=randread
