cyclictest -q -N -t 2 -l 100 -i 1000
