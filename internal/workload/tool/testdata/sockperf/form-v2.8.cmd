written in the form of sockperf 2.x
