python3 -I -S -X importtime -c pass
