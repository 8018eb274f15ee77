package setuptest

import (
	"os"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fleet/machinetest"
)

// TestDigest changes a machine in every way that the other tests of this package look for, and expects each change in
// what they compare.
func TestDigest(t *testing.T) {
	if os.Getenv("TARE_LIVE") != "1" {
		t.Skip("set TARE_LIVE=1 to make a machine (root, Debian's mirror)")
	}
	config := machinetest.Start(t, occupied(t))
	on := func(script string) string { return ssh(t, config, script, nil) }
	// Stands for that of a host with systemd.
	on(`mkdir -p /run/systemd/system && cat >/usr/local/bin/systemctl <<'END'
#!/bin/sh
case $1 in
list-unit-files) echo 'ssh.service enabled enabled'; cat /run/enabled ;;
list-units) echo 'ssh.service loaded active running OpenBSD Secure Shell server'; cat /run/running ;;
esac 2>/dev/null || :
END
chmod 755 /usr/local/bin/systemctl`)
	before := on(machineState)
	if again := on(machineState); again != before {
		t.Errorf("the machine changes by itself:%s", difference(before, again))
	}
	// ours runs a program of a tools tree, of which there may be older ones, in the machine's network.
	script := `set -e; ours() { XTABLES_LOCKFILE=/dev/null chroot "$(ls -d /var/lib/tare/images/*-tools-*/tree | tail -n 1)" "$@"; };`
	const twice = "+ process /bin/sh /usr/bin/runc serve" // started twice, and the two need not be neighbours
	changes := []struct{ change, want string }{
		{"echo new >/usr/bin/new", "+ file /usr/bin/new -rw-r--r-- 0:0 4 "},
		{"chmod u+s /usr/bin/runc", "+ file /usr/bin/runc -rwsr-xr-x "},
		{"rm /etc/dockerd/config", "- file /etc/dockerd/config "},
		{"echo changed >/etc/containerd/config", "+ content "},
		{"ln -sf /bin/true /usr/bin/podman", "+ file /usr/bin/podman lrwxrwxrwx "},
		{"mkdir /var/new", "+ file /var/new drwxr-xr-x "},
		{"touch /root/new", "+ file /root/new "},
		{"dpkg --purge kubelet", "- package kubelet 1.33.1-1.1 installed"},
		{"useradd new", "+ user new:x:"},
		{"groupadd crowd", "+ user crowd:x:"},
		{"mkdir -p /etc/systemd/system/new.target.wants && cd /etc/systemd/system/new.target.wants && " +
			"ln -s /usr/lib/systemd/system/runc.service .", "+ file /etc/systemd/system/new.target.wants/runc.service "},
		{"echo 'new.service enabled enabled' >/run/enabled", "+ enabled new.service"},
		{"echo 'new.service loaded active running new' >/run/running", "+ running new.service"},
		{"{ runc serve </dev/null >/dev/null 2>&1 & runc serve </dev/null >/dev/null 2>&1 & }",
			twice},
		{"{ dockerd serve </dev/null >/dev/null 2>&1 & }", "+ process /bin/sh /usr/bin/dockerd serve"},
		{"mount -t tmpfs new /mnt", "+ mount new /mnt tmpfs"},
		{"{ mkdir /sys/fs/cgroup/pids/new || mkdir /sys/fs/cgroup/new; } 2>/dev/null", "+ group /sys/fs/cgroup/"},
		{"echo 1 >/proc/sys/net/ipv4/ip_forward", "+ setting net/ipv4/ip_forward:1"},
		{"echo other >/proc/sys/kernel/hostname", "+ setting kernel/hostname:other"},
		{"ours nft add table inet new && ours nft add chain inet new input '{ type filter hook input priority 0; }' && " +
			"ours nft add rule inet new input tcp dport 2049 drop", "+ nft tcp dport 2049 drop"},
		{"ours iptables-nft -A FORWARD -s 192.0.2.0/24 -j DROP", "+ nft ip saddr 192.0.2.0/24 counter drop"},
		{"ours iptables-legacy -A FORWARD -s 192.0.2.0/24 -j DROP", "+ iptables filter -A FORWARD -s 192.0.2.0/24 -j DROP"},
		{"ours ip6tables-legacy -A FORWARD -j DROP", "+ iptables6 filter -A FORWARD -j DROP"},
		{"ours ip link add new0 type bridge", "+ interface new0/"},
		{"ours ip link set lo mtu 1400", "+ interface lo/mtu:1400"},
		{"ours ip addr add 192.0.2.1/24 dev lo", "+ route |-- 192.0.2.1"},
		{"ours ip -6 route add 2001:db8::/32 dev lo", "+ route 20010db8"},
	}
	for _, c := range changes {
		script += "\n(" + c.change + ")"
	}
	on(script)
	told := difference(before, on(machineState))
	for _, c := range changes {
		if !strings.Contains(told, "\n"+c.want) {
			t.Errorf("after %s, %q is not told:%s", c.change, c.want, told)
		}
	}
	if n := strings.Count(told, "\n"+twice); n != 2 {
		t.Errorf("%d of 2 equal processes are told:%s", n, told)
	}
	on("rmdir /sys/fs/cgroup/pids/new /sys/fs/cgroup/new 2>/dev/null || :")
}
