written in the form of STREAM 5.10
