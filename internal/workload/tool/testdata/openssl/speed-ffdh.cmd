openssl speed -seconds 1 ffdh2048
