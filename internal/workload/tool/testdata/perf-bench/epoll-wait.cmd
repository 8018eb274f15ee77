perf bench epoll wait -r 1 -t 2
