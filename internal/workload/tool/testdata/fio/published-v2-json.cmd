published output of fio 2.17, JSON
