openssl speed -mr -seconds 1 rsa2048
