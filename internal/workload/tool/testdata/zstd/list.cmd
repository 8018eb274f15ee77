zstd -l out
