written in the form of stress-ng 0.03 to 0.12
