openssl speed -seconds 1 ecdhp256 ecdhx25519
