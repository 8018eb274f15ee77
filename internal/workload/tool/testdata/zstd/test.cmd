zstd -t out
