openssl speed -mr -seconds 1 ecdhp256
