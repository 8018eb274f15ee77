my $end = time + 5;
for my $dir ("/data", "/tmp", "/dev/shm") {
	my $n = 0;
	mkdir "$dir/bomb";
	while (time < $end && $n < 200000) {
		open(my $f, ">", "$dir/bomb/$n") or last;
		$n++;
	}
	print "$n files in $dir: $!\n";
}
system("rm -rf /tmp/bomb /dev/shm/bomb");
