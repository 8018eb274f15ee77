written in the form of iperf 2.1
