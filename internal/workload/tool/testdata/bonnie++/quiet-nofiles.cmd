bonnie++ -d bon -s 32m -r 16 -n 0 -q -u root 2>/dev/null
