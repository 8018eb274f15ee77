printf 'abc' | dd conv=block cbs=2 of=/dev/null
