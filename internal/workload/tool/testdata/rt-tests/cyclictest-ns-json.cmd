cyclictest -q -N -l 20 -i 1000 --json=/dev/stderr 2>&1 >/dev/null
