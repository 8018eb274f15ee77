written in the form of lmbench 3, make see
