written in the form of fio 3.14, in the log of a test
