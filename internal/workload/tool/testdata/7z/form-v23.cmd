written in the form of 7-Zip 23.01
