python3 -c pass
