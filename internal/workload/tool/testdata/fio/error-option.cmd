fio --name=tare --bogus=1
# exit status 1
