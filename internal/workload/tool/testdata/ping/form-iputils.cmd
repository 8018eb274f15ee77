written in the form of ping of iputils
