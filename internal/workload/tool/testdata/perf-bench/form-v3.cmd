written in the form of perf bench of Linux 3
