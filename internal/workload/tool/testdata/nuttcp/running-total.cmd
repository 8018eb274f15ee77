nuttcp -frunningtotal -i1 -T 2 127.0.0.1
