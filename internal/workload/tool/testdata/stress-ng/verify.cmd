stress-ng --qsort 1 -t 1 --metrics --verify
