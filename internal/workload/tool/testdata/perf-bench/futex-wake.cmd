perf bench futex wake -t 8
