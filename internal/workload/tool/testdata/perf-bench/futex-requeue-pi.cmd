perf bench futex requeue -p -t 8
