written in the form of openssl 1.1.1 speed, ecdsa
