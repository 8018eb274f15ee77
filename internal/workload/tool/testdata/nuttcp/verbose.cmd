nuttcp -v -T 2 127.0.0.1
