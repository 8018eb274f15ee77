perf bench futex lock-pi -r 1 -t 4
