written in the form of ioping 0.9
