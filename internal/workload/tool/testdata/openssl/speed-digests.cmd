openssl speed -elapsed -seconds 1 -bytes 64 md5 sha256 ghash rand
