time tar xf t.tar --totals -C x
