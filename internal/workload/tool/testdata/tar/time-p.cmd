time -p tar cf t.tar tree
