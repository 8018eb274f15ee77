cyclictest -v -l 20 -i 1000
