perf bench futex lock-pi -M -r 1 -t 2
