published output of stress-ng 0.15.07 or later
