cpio -o -H crc < <(find tree) | cpio -i --only-verify-crc -v
