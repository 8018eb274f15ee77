zstd -b1 -e3 -i1 in
