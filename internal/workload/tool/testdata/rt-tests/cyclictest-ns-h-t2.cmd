cyclictest -q -N -l 40 -t 2 -i 1000 -h 1200000 | awk '!/^[0-9]/ || $2 + $3 > 0'
