# machine.sh TREE DIR NAME TOOLS PREPARE: becomes a machine, in namespaces of its own. DIR is of the machine alone, and
# has its keys; TOOLS are programs of this host that it has, with their libraries.
set -eu
tree=$1 dir=$2 name=$3 tools=$4 prepare=$5
mount --make-rprivate /
mkdir "$dir/upper" "$dir/work" "$dir/root" "$dir/state"
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
cd "$dir/root"
mkdir -p proc sys dev run tmp old root etc/ssh var/lib/tare usr/local/bin
# What the tools need, unless the tree has its own.
for tool in $tools; do
	for file in "$(command -v "$tool")" $(ldd "$(command -v "$tool")" | grep -o '/[^ ]*' || true); do
		[ -e ".$file" ] || { mkdir -p ".${file%/*}" && cp -L "$file" ".$file"; }
	done
done
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs run run
mount -t tmpfs tmp tmp
# What this host's root has its shell do at a login is not the machine's.
mount -t tmpfs -o mode=700 home root
mount --bind "$dir/state" var/lib/tare
if [ -e "$dir/images" ]; then
	mkdir "$dir/state/images"
	mount --bind "$dir/images/." var/lib/tare/images
fi
# The control groups of the host, from the machine's own on.
mount -t tmpfs cgroups sys/fs/cgroup
while read -r _ _ _ _ at _ rest; do
	rest=${rest##*- }
	case $at,$rest in
	/sys/fs/cgroup*,cgroup2\ *) mkdir -p ".$at" && mount -t cgroup2 cgroup ".$at" ;;
	/sys/fs/cgroup*,cgroup\ *) mkdir -p ".$at" && mount -t cgroup -o "${rest##*rw,}" cgroup ".$at" ;;
	esac
done </proc/self/mountinfo
ip link set lo up
echo "$name" >/proc/sys/kernel/hostname
echo "$name" >etc/hostname
echo "$name" | md5sum | cut -c 1-32 >etc/machine-id
mkdir -p run/sshd
grep -qs '^root:' etc/passwd || printf 'root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n' >etc/passwd
cp "$dir/host" etc/ssh/tare_key
chmod 600 etc/ssh/tare_key
cp "$dir/user.pub" etc/ssh/tare_users
cat >etc/ssh/tare <<END
ListenAddress 127.0.0.1:22
HostKey /etc/ssh/tare_key
AuthorizedKeysFile /etc/ssh/tare_users
PidFile none
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
MaxStartups 100
LogLevel ERROR
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
END
eval "$prepare"
pivot_root . old
umount -l /old
exec /usr/sbin/sshd -D -e -f /etc/ssh/tare
