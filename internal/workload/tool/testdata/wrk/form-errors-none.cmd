written in the form of wrk 4 with --latency
