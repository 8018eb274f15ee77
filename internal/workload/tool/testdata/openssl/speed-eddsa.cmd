openssl speed -seconds 1 ed25519 ed448
