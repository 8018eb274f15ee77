cyclictest -v -N -l 20 -i 1000
