openssl speed -seconds 1 dsa2048
