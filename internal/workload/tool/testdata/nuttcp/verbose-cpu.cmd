nuttcp -vv -T 1 127.0.0.1
