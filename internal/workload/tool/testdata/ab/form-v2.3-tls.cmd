written in the form of ab 2.3 with TLS
