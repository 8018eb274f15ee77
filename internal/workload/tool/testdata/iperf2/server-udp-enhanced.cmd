timeout 4 iperf -s -u -e -p 5890
# exit status 124
