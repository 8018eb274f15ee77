timeout 4 iperf -s -u -p 5890
# exit status 124
