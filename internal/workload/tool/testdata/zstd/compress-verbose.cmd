zstd -vv -T1 -3 -f in -o out
