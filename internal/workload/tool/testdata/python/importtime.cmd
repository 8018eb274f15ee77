python3 -X importtime -c pass
