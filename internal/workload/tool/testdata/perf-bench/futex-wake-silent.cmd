perf bench futex wake -s -t 8
