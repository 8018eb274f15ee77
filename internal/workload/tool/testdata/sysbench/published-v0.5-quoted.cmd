published output of sysbench 0.5, quoted in a mail
