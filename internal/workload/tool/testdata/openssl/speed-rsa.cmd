openssl speed -elapsed -seconds 1 rsa2048 rsa4096
