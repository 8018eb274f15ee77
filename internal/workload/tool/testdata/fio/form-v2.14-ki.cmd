written in the form of fio 2.14 to 2.20
