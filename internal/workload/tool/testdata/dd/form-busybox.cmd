written in the form of busybox dd
