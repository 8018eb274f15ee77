nuttcp -u -R 20m -fparse -i1 -T 2 127.0.0.1
