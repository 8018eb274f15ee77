perf bench internals synthesize -t -i 5 -I 5 -M 2
