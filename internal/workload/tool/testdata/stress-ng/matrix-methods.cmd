stress-ng --cpu 1 --cpu-method fft -t 1 --metrics --verbose
