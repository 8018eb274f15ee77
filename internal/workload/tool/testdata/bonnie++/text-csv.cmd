bonnie++ -d bon -s 32m:8k -r 16 -n 1 -u root
