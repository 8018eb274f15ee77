/usr/bin/time -v tar cf t.tar tree
