published output of lmbench 3, results
