written in the form of dbench 3.04
