perf bench sched pipe -T -l 20000
