published output of UnixBench 4.1
