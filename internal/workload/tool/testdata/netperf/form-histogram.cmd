written in the form of netperf 2.7 with --enable-histogram
