bonnie++ -d bon -s 16m -r 8 -n 1 -b -u root -c 2
