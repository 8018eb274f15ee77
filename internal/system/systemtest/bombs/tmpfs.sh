for dir in /tmp /run /dev/shm; do
	timeout 5 head -c 2G /dev/zero >$dir/bomb
	ls -l $dir/bomb
done
rm -f /tmp/bomb /run/bomb /dev/shm/bomb
