# The kernel's settings in the files $SETTINGS, its debugging files and its control groups.
exec 2>/dev/null
mkdir -p /tmp/p /tmp/s
mount -o remount,rw /proc/sys
mount -o remount,rw /proc
mount -o remount,rw /sys
mount -t proc none /tmp/p
mount -t sysfs none /tmp/s
for file in $SETTINGS; do
	for at in '' /tmp/p /tmp/s; do
		case $at$file in
		/tmp/p/proc/*) here=/tmp/p/${file#/proc/} ;;
		/tmp/s/sys/*) here=/tmp/s/${file#/sys/} ;;
		*) here=$at$file ;;
		esac
		case $file in
		*/hostname | *domainname) ;; # of its own name a guest is master
		*) (echo "$MARK" >"$here") && echo "did: wrote $here" ;;
		esac
	done
done
hostname "$MARK"
umount /tmp/p /tmp/s
for file in /proc/sysrq-trigger /proc/sys/vm/drop_caches /proc/sys/kernel/panic /proc/kcore; do
	(: <>$file) && echo "did: opened $file for writing"
done
try() { mount -t "$@" none /tmp/p && echo "did: mounted $*" && umount /tmp/p; }
try cgroup2
for controller in memory devices cpu rdma; do try cgroup -o $controller; done
try binfmt_misc
try debugfs
try tracefs
true
