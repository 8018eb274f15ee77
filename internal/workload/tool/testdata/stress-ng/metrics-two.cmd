stress-ng --cpu 1 --vm 1 --vm-bytes 16m -t 2 --metrics
