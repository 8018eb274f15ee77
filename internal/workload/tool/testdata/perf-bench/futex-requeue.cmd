perf bench futex requeue -t 8
