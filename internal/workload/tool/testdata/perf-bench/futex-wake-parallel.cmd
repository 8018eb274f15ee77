perf bench futex wake-parallel -t 8 -w 2
