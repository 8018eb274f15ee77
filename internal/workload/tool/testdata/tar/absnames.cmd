time tar cf t.tar tree
