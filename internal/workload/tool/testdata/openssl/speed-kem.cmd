openssl speed -seconds 1 ML-KEM-768
