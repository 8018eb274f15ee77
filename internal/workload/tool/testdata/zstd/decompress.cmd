zstd -d -f out -o back
