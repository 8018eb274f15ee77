bonnie++ -d bon -s 16m -r 8 -n 0 -x 2 -f -u root
