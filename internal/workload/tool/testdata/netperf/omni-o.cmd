netperf -p 23865 -H 127.0.0.1 -t omni -l 1 -j -- -o all
