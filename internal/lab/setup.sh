# Makes the lab's machine, which is up with a read-only root and the disk on
# /data, a host that tare can run on. $1 is its kind, $2 the name of the userland
# image's directory.
set -eu
step() { "$@" || { echo "lab: $* failed" >&2; exit 1; }; }

mount -t tmpfs tmpfs /var
mkdir -p /var/lib/xen /var/log/xen /var/lib/tare /var/tmp /var/cache /run/lock /run/xen /run/xenstored
ln -s /run /var/run
ln -s /run/lock /var/lock
mkdir -p /dev/pts
step mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
step mount -t cgroup2 cgroup2 /sys/fs/cgroup
hostname tare-lab
# Without an identity a run file does not know its machine again.
echo 7461726500000000000000006c616200 >/run/machine-id
step mount --bind /run/machine-id /etc/machine-id

# tare's state is on the disk; the userland image is in it as if built here, its
# tree and its disk being the disk that this machine was given.
mkdir -p /data/tare /run/exchange /run/userland
step mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 exchange /run/exchange
step mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,ro,cache=loose userland /run/userland
step mount --bind /data/tare /var/lib/tare
image=/var/lib/tare/images/$2
mkdir -p "$image/tree"
ln -s /run/userland/manifest.json /run/userland/kernel "$image/"
ln -s /dev/vdc "$image/disk.ext4"
step mount -t ext4 -o ro /dev/vdc "$image/tree"

if [ "$1" = xen ]; then
	step mount -t xenfs xenfs /proc/xen
	bin=$(dirname /usr/lib/xen-*/bin/xl)
	step /usr/sbin/xenstored --pid-file=/run/xenstored.pid
	step "$bin/xen-init-dom0"
	step /usr/sbin/xenconsoled --pid-file=/run/xenconsoled.pid
fi
echo ready
