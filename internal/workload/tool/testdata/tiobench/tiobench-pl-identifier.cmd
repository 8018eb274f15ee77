tiobench.pl --identifier old-kernel --size 8 --threads 1 --random 200 --dir d 2>/dev/null
