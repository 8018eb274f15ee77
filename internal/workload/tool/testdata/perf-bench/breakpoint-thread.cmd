perf bench breakpoint thread -b 1 -p 2 -t 2
