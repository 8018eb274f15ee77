openssl speed -mr -seconds 1 ecdsap256
