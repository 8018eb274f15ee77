written in the form of stress-ng 0.11
