stress-ng --cpu 1 -t 1 --metrics --log-brief
