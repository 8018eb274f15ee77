hyperfine -N -r 5 'sleep 0.01' 'sleep 0.02' --export-json /dev/stdout --style none
