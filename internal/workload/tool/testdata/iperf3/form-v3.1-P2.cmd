written in the form of iperf 3.1, two streams
