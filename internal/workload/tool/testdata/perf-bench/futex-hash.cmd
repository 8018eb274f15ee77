perf bench futex hash -r 1 -t 4 -f 64
