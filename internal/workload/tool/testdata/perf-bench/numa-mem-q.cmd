perf bench numa mem -p 2 -t 1 -P 64 -s 2 -q
