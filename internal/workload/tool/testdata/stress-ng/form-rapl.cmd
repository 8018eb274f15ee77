written in the form of stress-ng 0.15.07 or later with --rapl
