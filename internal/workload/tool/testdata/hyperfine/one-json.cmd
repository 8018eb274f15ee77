hyperfine -N -w 1 -r 5 'sleep 0.01' --export-json /dev/stdout --style none
