perf bench mem find_bit -i 2 -j 3
