written in the form of fio 3.16 with --fsync
