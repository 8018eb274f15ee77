written in the form of hyperfine 1.0 to 1.11
