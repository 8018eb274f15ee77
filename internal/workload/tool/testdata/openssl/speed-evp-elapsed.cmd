openssl speed -elapsed -seconds 1 -evp aes-256-cbc
