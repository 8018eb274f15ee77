openssl speed -mr -seconds 1 ML-DSA-65
