cyclictest -q -l 500 -i 1000
