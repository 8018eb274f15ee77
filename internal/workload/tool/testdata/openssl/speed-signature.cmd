openssl speed -seconds 1 ML-DSA-44
