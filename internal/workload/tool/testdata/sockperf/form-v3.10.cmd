written in the form of sockperf 3.10
