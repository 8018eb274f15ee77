published output of iperf 2.0 with -w
