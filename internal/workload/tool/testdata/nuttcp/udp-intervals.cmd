nuttcp -u -R 50m -T 2 -i1 127.0.0.1
