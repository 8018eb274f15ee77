/usr/bin/time -f 'elapsed %e user %U sys %S' tar cf t.tar tree
