perf bench internals synthesize -i 50 -I 20
