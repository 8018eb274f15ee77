stress-ng --memcpy 1 --stream 1 --switch 1 -t 2 --metrics
