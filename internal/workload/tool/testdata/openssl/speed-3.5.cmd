openssl speed -seconds 1 -bytes 64 sha256 aes-128-cbc
