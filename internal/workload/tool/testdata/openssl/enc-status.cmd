time (dd if=/dev/zero bs=1M count=64 status=progress | openssl enc -aes-256-cbc -pbkdf2 -pass pass:x >/dev/null)
