written in the form of redis-benchmark 4 with --csv
