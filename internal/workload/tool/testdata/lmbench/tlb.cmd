tlb -N 1 -M 1M
