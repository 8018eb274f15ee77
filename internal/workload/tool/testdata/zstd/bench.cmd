zstd -b3 -i1 in
