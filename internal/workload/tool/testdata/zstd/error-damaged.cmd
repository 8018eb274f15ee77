zstd -t cut.zst
