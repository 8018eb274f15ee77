written in the form of iperf 2.0.5 after a connection of no time
