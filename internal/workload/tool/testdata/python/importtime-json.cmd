python3 -X importtime -c import json
