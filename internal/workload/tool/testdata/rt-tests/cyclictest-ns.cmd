cyclictest -q -N -l 300 -i 1000
