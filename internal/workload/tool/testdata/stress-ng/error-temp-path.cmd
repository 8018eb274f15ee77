setpriv --reuid=65534 --regid=65534 --clear-groups stress-ng --exec 1 --exec-ops 100 --temp-path .
# exit status 1
