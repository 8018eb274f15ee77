written in the form of openssl 1.0.1 speed
