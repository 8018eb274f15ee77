perf bench breakpoint enable -p 2 -a 2
