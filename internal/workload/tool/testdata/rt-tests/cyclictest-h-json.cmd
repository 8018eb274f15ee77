cyclictest -q -l 100 -i 1000 -h 80 --json=/dev/stderr 2>&1 >/dev/null
