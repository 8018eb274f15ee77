written in the form of UnixBench 5.1.3
