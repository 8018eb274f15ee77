openssl speed -mr -seconds 1 ML-KEM-512 ML-KEM-1024
