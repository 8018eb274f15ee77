openssl speed -multi 2 -seconds 1 ML-KEM-512
