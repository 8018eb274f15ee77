openssl speed -mr -multi 2 -seconds 1 rsa2048
