zstd -f -k in back
