published output of stress-ng 0.12 to 0.17
