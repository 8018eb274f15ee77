written in the form of UnixBench 5.1.2, one and four copies
