tiobench.pl --size 1 --size 2 --block 4096 --block 8192 --numruns 1 --threads 1 --threads 2 --random 20 --dir d
