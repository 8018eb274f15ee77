stress-ng --cpu 1 -t 1 --metrics --times --yaml out.yaml >/dev/null 2>&1; cat out.yaml
