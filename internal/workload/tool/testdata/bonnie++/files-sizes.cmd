bonnie++ -d bon -s 32m -r 16 -n 1:1024:16:2 -u root -m host
