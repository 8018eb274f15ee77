perf bench epoll wait -v -r 1 -t 2 -m
