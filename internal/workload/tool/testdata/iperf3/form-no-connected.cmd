written in the form of iperf 3.1, pasted without its first lines
