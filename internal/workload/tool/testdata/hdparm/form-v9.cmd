written in the form of hdparm 9
