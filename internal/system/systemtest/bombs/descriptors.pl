my @all;
for (1 .. 20) {
	next if fork;
	while (open(my $f, "<", "/dev/null")) { push @all, $f }
	sleep 2;
	exit;
}
1 while wait > 0;
