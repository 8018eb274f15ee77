python3 -X importtime -c x =
