written in the form of iperf 3.1, UDP in another order
