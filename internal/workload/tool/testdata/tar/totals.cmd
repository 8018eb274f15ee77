time tar cf t.tar --totals tree
