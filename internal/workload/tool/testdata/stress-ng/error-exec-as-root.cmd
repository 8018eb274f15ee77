stress-ng --exec 1 --exec-ops 100 --exec-max 1 --metrics
