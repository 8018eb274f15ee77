openssl speed -elapsed -seconds 1 -bytes 64 -mr md5 sha256
