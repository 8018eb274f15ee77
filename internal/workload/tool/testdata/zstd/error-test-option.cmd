zstd --bogus in
