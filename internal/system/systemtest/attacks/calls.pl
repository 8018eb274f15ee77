# System calls that change the host: settimeofday (of the time zone only, which is as it was), init_module and swapoff
# (of nothing), iopl. Without the permission they fail with EPERM, or with ENOSYS.
print "did: may set the clock\n" if syscall(164, 0, my $zone = "\0" x 8) == 0;
$! = 0;
syscall(175, 0, 0, my $none = "");
print "did: may load modules ($!)\n" if $! != 1 && $! != 38;
$! = 0;
syscall(168, my $no = "/nothing");
print "did: may swap ($!)\n" if $! != 1 && $! != 38;
print "did: got at the I/O ports\n" if syscall(172, 3) == 0;
exit 0;
