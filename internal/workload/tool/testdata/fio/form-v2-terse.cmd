written in the form of fio 2 with --terse-version=2
