openssl speed -mr -seconds 1 ffdh2048
