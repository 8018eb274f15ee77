ptsematest -q -l 200 -i 1000
