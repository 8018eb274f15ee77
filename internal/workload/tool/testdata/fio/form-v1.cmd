written in the form of fio 1.59
