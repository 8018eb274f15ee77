zstd -f nofile -o o
