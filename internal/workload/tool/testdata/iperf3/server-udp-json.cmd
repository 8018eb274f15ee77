iperf3 -s -1 -J -p 5779
