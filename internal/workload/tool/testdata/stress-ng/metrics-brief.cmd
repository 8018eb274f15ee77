stress-ng --cpu 1 --pipe 1 -t 2 --metrics-brief
