written in the form of memtier_benchmark 1.4
