cyclictest -q -t 2 -l 500 -i 1000
