zstd -d -f in -o o
