openssl speed -elapsed -seconds 1 -hmac sha256
