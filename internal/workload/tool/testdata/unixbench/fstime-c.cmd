fstime -c -t 1 -d . -b 1024 -m 500
