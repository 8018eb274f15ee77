hyperfine -N -r 3 -P n 1 2 'sleep 0.0{n}' --export-json /dev/stdout --style none
