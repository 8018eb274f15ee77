perf bench epoll ctl -r 1 -t 2
