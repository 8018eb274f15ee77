openssl speed -seconds 1 sm2
