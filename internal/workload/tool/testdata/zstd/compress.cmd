zstd -f in -o out
