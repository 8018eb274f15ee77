published output of bonnie++ 1.96
