published output of lmbench 3 on a host without the interface
