written in the form of ab 2.0.40
