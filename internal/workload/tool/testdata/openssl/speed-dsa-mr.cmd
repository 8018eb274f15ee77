openssl speed -mr -seconds 1 dsa2048
