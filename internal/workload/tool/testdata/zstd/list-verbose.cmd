zstd -lv out
