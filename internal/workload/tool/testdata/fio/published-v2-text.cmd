published output of fio 2.2.10
