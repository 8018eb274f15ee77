stress-ng --cpu 1 --stream 1 -t 1 --metrics --yaml out.yaml >/dev/null 2>&1; cat out.yaml
