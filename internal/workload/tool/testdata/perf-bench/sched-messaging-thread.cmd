perf bench sched messaging -t -p -g 2 -l 100
