my @all;
alarm 5;
push @all, "x" x (1 << 20) while 1;
