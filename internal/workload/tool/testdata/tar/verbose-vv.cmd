time tar cvvf t.tar tree
