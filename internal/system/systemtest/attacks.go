package systemtest

// attacks are tried one after the other in the same guest. $MARK is what they write, $TARGET a directory of the host,
// $MAJOR and $MINOR a block device of the host.
var attacks = []attack{
	{name: "devices", sh: `exec 2>/dev/null
for dir in /tmp /run /dev /dev/shm /data /var/tmp; do
	n=$dir/$MARK
	mknod $n-b b $MAJOR $MINOR && { head -c 512 <$n-b; echo "$MARK" | dd of=$n-b bs=512 seek=1 conv=notrunc,fsync; }
	mkdir -p $n-m && mount $n-b $n-m && echo "did: mounted the host's disk" && umount $n-m
	mknod $n-c c 1 1 && (: <$n-c) && echo "did: opened /dev/mem"
	mknod $n-k c 10 237 && (: <$n-k) && echo "did: opened /dev/loop-control"
	rm -rf $n-b $n-c $n-k; rmdir $n-m
done
mkdir -p /tmp/d && mount -t devtmpfs none /tmp/d && echo "did: mounted the host's /dev"
umount /tmp/d
for d in /dev/*; do test -b $d && (: <$d) && echo "did: opened $d"; done
true`},
	{name: "userland", sh: `exec 2>/dev/null
mkdir -p /tmp/u
for at in / /usr /etc /tare-agent; do
	mount -o remount,rw $at; mount -o remount,bind,rw $at
	again=
	mount --bind $at /tmp/u && { mount -o remount,bind,rw /tmp/u; again="/tmp/u /tmp/u/usr /tmp/u/bin"; }
	for dir in /usr/bin /etc /opt /var/lib $again; do
		(echo x >$dir/$MARK) && echo "did: wrote to the userland in $dir"
	done
	(echo x >>/tare-agent) && echo "did: overwrote the agent"
	umount /tmp/u
done
cat /proc/self/mountinfo | while read id parent dev root at rest; do
	case $at in /|/usr) mknod /tmp/$MARK b ${dev%:*} ${dev#*:} && (: <>/tmp/$MARK) && echo "did: opened the userland's disk for writing"; rm -f /tmp/$MARK;; esac
done
true`},
	{name: "disk", ownKernel: true, sh: `exec 2>/dev/null
for d in vda ubda xvda sda; do
	test -b /dev/$d || continue
	blockdev --setrw /dev/$d; echo 0 >/sys/block/$d/ro
	echo $MARK | dd of=/dev/$d bs=512 seek=1 conv=notrunc,fsync
	mount -o remount,rw / && echo x >/usr/$MARK
	sync
done
true`},
	{name: "files", perl: `
my $target = $ENV{TARGET}; my $mark = $ENV{MARK};
sub try { my ($base) = @_; if (open(my $f, "<", "$base$target/file")) { print <$f>, " through $base\n" }
	if (open(my $f, ">", "$base$target/$mark")) { print $f "x" } }
# out of a new root, with the working directory outside of it
if (!(my $pid = fork)) { mkdir "/tmp/c"; chdir "/"; chroot "/tmp/c"; chdir(".." ) for 1..64; chroot "."; try(""); exit } else { waitpid $pid, 0 }
for my $base (glob("/proc/[0-9]*/root"), glob("/proc/[0-9]*/cwd"), glob("/proc/[0-9]*/fd/*"), "", "/data", "/tmp", "/run") {
	try($base . "/.." x $_) for 0, 8;
}
# by the number of an inode, as "Shocker" did
for my $at ("/", "/data", "/tare-agent", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/usr", "/usr/bin/env", glob "/run/*") {
	open(my $d, "<", $at) or sysopen($d, $at, 0200000) or next;
	for my $type (1, 0x81) {
		my $handle = pack("IiII", 8, $type, $type == 1 ? (2, 0) : (128, 0));
		my $fd = syscall(304, fileno($d), $handle, 0);
		try("/proc/self/fd/$fd") if $fd >= 0;
	}
}
# file systems of hypervisors
mkdir "/tmp/h";
for my $fs ("hostfs", "hppfs", "virtiofs", "9p", "vboxsf") {
	for my $o ("/", "../../../../../../../../../..", ".", $target) {
		next if system("mount -t $fs -o '$o' none /tmp/h 2>/dev/null");
		try("/tmp/h"); try("/tmp/h" . "/.." x 8);
		if (open(my $f, "<", "/tmp/h/file")) { print <$f> } open(my $f, ">", "/tmp/h/$mark");
		system("umount /tmp/h");
	}
}
exit 0`},
	{name: "settings", sh: `exec 2>/dev/null
mkdir -p /tmp/p /tmp/s
mount -o remount,rw /proc/sys; mount -o remount,rw /proc; mount -o remount,rw /sys
mount -t proc none /tmp/p; mount -t sysfs none /tmp/s
for f in $SETTINGS; do
	for at in '' /tmp/p /tmp/s; do
		case $at$f in /tmp/p/proc/*) f2=/tmp/p/${f#/proc/};; /tmp/s/sys/*) f2=/tmp/s/${f#/sys/};; *) f2=$at$f;; esac
		# the name of the host is the guest's own
		case $f in */hostname|*/domainname) ;; *) (echo $MARK >$f2) && echo "did: wrote $f2";; esac
	done
done
hostname $MARK
umount /tmp/p /tmp/s
for f in /proc/sysrq-trigger /proc/sys/vm/drop_caches /proc/sys/kernel/panic /proc/kcore; do
	(: <>$f) && echo "did: opened $f for writing"
done
mount -t cgroup2 none /tmp/p && echo "did: mounted control groups of version 2" && umount /tmp/p
for c in memory devices cpu rdma; do mount -t cgroup -o $c none /tmp/p && echo "did: mounted control groups ($c)" && umount /tmp/p; done
mount -t binfmt_misc none /tmp/p && echo "did: mounted binfmt_misc" && umount /tmp/p
mount -t debugfs none /tmp/p && echo "did: mounted debugfs" && umount /tmp/p
mount -t tracefs none /tmp/p && echo "did: mounted tracefs" && umount /tmp/p
true`},
	{name: "calls", perl: `
# settimeofday for the time zone only, init_module and kexec_load with nothing, swapoff, iopl, ioperm, syslog(CLEAR is 5; 10 is harmless)
print "did: may set the clock\n" if syscall(164, 0, my $zone = "\0" x 8) == 0;
$! = 0; syscall(175, 0, 0, my $none = ""); print "did: may load modules ($!)\n" if $! != 1 && $! != 38;
$! = 0; syscall(168, my $no = "/nothing"); print "did: may swap ($!)\n" if $! != 1 && $! != 38;
print "did: got at the I/O ports\n" if syscall(172, 3) == 0;
exit 0`},
}

// bombs use up one thing each, for a few seconds at most. The last one leaves processes behind.
var bombs = []attack{
	{name: "memory", perl: `my @all; alarm 5; push @all, "x" x (1 << 20) while 1`},
	{name: "tmpfs", sh: `for d in /tmp /run /dev/shm; do timeout 5 head -c 2G /dev/zero >$d/bomb; ls -l $d/bomb; done; rm -f /tmp/bomb /run/bomb /dev/shm/bomb`},
	{name: "inodes", perl: `my $end = time + 5;
for my $d ("/data", "/tmp", "/dev/shm") { my $n = 0; mkdir "$d/bomb"; while (time < $end && $n < 200000) { open(my $f, ">", "$d/bomb/$n") or last; $n++ }
print "$n files in $d: $!\n" } system("rm -rf /tmp/bomb /dev/shm/bomb")`},
	{name: "descriptors", perl: `my @all; my $n = 0; for my $p (1..20) { if (!(my $pid = fork)) { while (open(my $f, "<", "/dev/null")) { push @all, $f } sleep 2; exit } } 1 while wait > 0`},
	{name: "signals", perl: `for (1..2000) { kill "STOP", -1; kill "CONT", -1 } kill "KILL", -1`},
	{name: "doubling", perl: `my $end = time + 2; while (time < $end) { last unless defined fork }`},
	{name: "fork", perl: `my $n = 0; my $end = time + 10;
while ($n < 8000 && time < $end) { my $p = fork; last unless defined $p; if (!$p) { syscall(112); sleep 100; exit } $n++ } print "$n processes: $!\n"`},
}
