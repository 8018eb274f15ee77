published output of sockperf 3.7
