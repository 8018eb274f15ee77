fio --filename=fio.dat --size=4M --bs=2M --rw=randread --direct=1 --output-format=json --name=a --name=b
