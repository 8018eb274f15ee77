perf bench mem memset -s 8MB -l 5 -f default
