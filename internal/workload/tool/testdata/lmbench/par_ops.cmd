par_ops -N 1
