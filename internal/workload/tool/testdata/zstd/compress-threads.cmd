zstd -vv -T2 -1 --long -f in -o out1
