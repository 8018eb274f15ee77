tar --totals --delete -f t.tar tree/f1
