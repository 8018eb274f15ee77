time cpio -tv < t.cpio
