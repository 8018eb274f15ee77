time tar cvf t.tar tree
