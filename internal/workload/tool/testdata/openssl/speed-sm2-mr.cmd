openssl speed -mr -seconds 1 sm2
