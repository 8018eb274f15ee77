written in the form of fio 3.28, two groups
