openssl speed -elapsed -seconds 1 -aead -evp aes-128-gcm
