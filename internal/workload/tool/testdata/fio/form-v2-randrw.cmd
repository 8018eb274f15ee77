written in the form of fio 2.1.11, reads and writes
