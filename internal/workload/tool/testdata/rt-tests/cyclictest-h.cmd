cyclictest -q -l 300 -i 1000 -h 40
