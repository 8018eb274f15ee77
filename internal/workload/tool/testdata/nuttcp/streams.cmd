nuttcp -N 3 -T 1 127.0.0.1
