written in the form of bonnie++ 1.98, without its CSV line
