perf bench sched all
