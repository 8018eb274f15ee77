openssl speed -seconds 1 -bytes 1024 sha1 rsa2048 ecdsap256
