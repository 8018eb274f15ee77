openssl speed -elapsed -seconds 1 -decrypt -evp aes-128-cbc
