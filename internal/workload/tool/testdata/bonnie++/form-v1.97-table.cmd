written in the form of bonnie++ 1.97, without its CSV line
