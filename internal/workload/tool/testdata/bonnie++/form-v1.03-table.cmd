written in the form of bonnie++ 1.03, without its CSV line
