written in the form of p7zip 16.02
