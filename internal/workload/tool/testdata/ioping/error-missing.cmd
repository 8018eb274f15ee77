ioping -c 3 /nonexistent
