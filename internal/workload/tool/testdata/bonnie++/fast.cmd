bonnie++ -d bon -s 32m -r 16 -n 0 -f -u root
