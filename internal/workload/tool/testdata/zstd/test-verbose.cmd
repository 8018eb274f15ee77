zstd -t -vv out
