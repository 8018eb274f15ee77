openssl speed -seconds 1 -bytes 1024 -evp aes-128-gcm
