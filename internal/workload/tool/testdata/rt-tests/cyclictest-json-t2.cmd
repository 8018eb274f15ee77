cyclictest -q -t 2 -l 300 -i 1000 -h 20 --json=/dev/stdout
