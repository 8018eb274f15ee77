perf bench internals evlist-open-close -i 5
