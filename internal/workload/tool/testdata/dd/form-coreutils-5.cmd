written in the form of dd of coreutils 5
