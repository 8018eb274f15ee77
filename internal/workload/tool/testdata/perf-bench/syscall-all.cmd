perf bench syscall all
