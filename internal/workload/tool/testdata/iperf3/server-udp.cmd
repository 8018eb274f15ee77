iperf3 -s -1 -p 5779
