# The userland, which all guests share, made writable.
exec 2>/dev/null
mkdir -p /tmp/u
for at in / /usr /etc /tare-agent; do
	mount -o remount,rw $at
	mount -o remount,bind,rw $at
	again=
	mount --bind $at /tmp/u && {
		mount -o remount,bind,rw /tmp/u
		again="/tmp/u /tmp/u/usr /tmp/u/bin"
	}
	for dir in /usr/bin /etc /opt /var/lib $again; do
		(echo x >"$dir/$MARK") && echo "did: wrote to the userland in $dir"
	done
	(echo x >>/tare-agent) && echo "did: overwrote the agent"
	umount /tmp/u
done
# The device that the userland is on, opened but not written to: in a container it is the host's disk.
while read -r _ _ device _ at _; do
	case $at in
	/ | /usr)
		mknod "/tmp/$MARK" b "${device%:*}" "${device#*:}" && (: <>"/tmp/$MARK") &&
			echo "did: opened the userland's disk for writing"
		rm -f "/tmp/$MARK"
		;;
	esac
done </proc/self/mountinfo
true
