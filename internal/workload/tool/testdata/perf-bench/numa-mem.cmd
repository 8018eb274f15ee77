perf bench numa mem -p 1 -t 2 -P 64 -T 16 -s 2 -l 3 -zZ0 -m
