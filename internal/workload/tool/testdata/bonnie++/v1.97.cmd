bonnie++ -q -m testhost -s 8G
# composed after the documentation of that version
