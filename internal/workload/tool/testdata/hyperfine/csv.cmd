hyperfine -N -r 5 'sleep 0.01' --export-csv /dev/stdout --style none
