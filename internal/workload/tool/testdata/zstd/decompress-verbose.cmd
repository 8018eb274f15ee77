zstd -d -vv -f out -o back
