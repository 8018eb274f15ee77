bonnie++ -d bon -s 0 -n 2 -u root
