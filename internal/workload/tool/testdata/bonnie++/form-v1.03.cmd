written in the form of bonnie++ 1.03
