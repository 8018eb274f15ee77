written in the form of fio 2.16 on a device-mapper volume
