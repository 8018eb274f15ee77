published output of openssl speed, indented on a page
