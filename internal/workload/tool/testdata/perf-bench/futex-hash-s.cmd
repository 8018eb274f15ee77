perf bench futex hash -s -r 1 -t 2
