perf bench mem memcpy -c -s 4MB -l 5
