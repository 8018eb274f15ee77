timeout 4 iperf -s -p 5890 -i 1
# exit status 124
