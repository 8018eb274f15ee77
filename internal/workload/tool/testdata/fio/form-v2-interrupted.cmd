written in the form of fio 2.1.3, which a signal ended
