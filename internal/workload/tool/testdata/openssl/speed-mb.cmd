openssl speed -elapsed -seconds 1 -mb -evp aes-128-cbc-hmac-sha1
