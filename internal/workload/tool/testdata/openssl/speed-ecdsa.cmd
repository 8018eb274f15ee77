openssl speed -seconds 1 ecdsap256 ecdsap384
