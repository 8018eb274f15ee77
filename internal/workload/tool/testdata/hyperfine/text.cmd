hyperfine -N -r 5 'sleep 0.01' 'sleep 0.02' --style basic
