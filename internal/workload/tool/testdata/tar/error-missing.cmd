time tar xzf nothing.tar.gz
# exit status 2
