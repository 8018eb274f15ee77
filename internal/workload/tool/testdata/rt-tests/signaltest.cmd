signaltest -q -l 200
