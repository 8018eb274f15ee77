openssl speed -mr -seconds 1 ed25519
