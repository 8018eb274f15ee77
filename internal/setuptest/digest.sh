# Functions that print what belongs to a machine, a line for each thing. Busybox has all that they need.

# files DIR... prints files with their times, and what is in those of /etc.
files() {
	find "$@" -xdev \( -path /var/lib/tare -o -path /usr/local/go \) -prune -o \
		-type d -exec stat -c 'file %n %A %u:%g' {} + -o -exec stat -c 'file %n %A %u:%g %s %y %N' {} +
	find /etc -xdev -type f -exec sha256sum {} + | sed 's/^/content /'
}

# packages prints them with their versions, where there is dpkg.
packages() {
	! command -v dpkg-query >/dev/null || dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Status}\n'
}

# units prints those of systemd that are enabled, and where it runs, those that run.
units() {
	command -v systemctl >/dev/null || return 0
	systemctl list-unit-files --no-legend --no-pager --state=enabled | sed 's/^/enabled /'
	[ ! -d /run/systemd/system ] || systemctl list-units --no-legend --no-pager --plain --state=running |
		sed 's/^/running /; s/  .*//'
}

# processes prints what runs, but for shells and what serves the caller.
processes() {
	for p in /proc/[0-9]*; do
		name=$({ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null) || continue
		case $name in *sshd* | 'sh '* | 'ash '* | 'bash '* | 'tr '* | '') ;; *) echo "process $name" ;; esac
	done
}

# settings prints those of the kernel, but for those that change while nobody changes them.
settings() {
	find /proc/sys -type f -exec grep -H '' {} + 2>/dev/null | sed '
		\|^/proc/sys/fs/aio-nr:|d; # what the kernel has in use
		\|^/proc/sys/fs/[a-z]*-state:|d
		\|^/proc/sys/fs/[a-z]*-nr:|d
		\|^/proc/sys/fs/quota/|d
		\|^/proc/sys/kernel/pty/nr:|d
		\|/nf_conntrack_count:|d
		\|^/proc/sys/kernel/ns_last_pid:|d; # the last process
		\|^/proc/sys/kernel/random/|d; # entropy, and numbers that are random
		\|^/proc/sys/kernel/hung_task_detect_count:|d; # what the kernel complained about
		\|^/proc/sys/kernel/tainted:|d
		\|^/proc/sys/kernel/perf_event_max_sample_rate:|d; # the kernel lowers it when interrupts take long
		s|^/proc/sys/|setting |'
}

# rules prints those of packet filters. The programs that read them are those of the tools tree.
rules() {
	tree=$(ls -d /var/lib/tare/images/*-tools-*/tree | tail -n 1)
	all=$(chroot "$tree" nft --stateless list ruleset) || exit 1
	echo "$all" | sed 's/^[[:space:]]*/nft /'
	for version in '' 6; do
		for table in $(cat /proc/net/ip${version}_tables_names 2>/dev/null); do
			XTABLES_LOCKFILE=/dev/null chroot "$tree" "ip${version}tables-legacy" -t "$table" -S |
				sed "s/^/iptables$version $table /"
		done
	done
}

# kernel prints what else the kernel was told.
kernel() {
	sed 's/^/user /' /etc/passwd /etc/group
	sed 's/^/mount /' /proc/mounts
	grep -H '' /sys/class/net/*/address /sys/class/net/*/flags /sys/class/net/*/mtu | sed 's|^/sys/class/net/|interface |'
	sed 's/^[[:space:]]*/route /' /proc/net/fib_trie /proc/net/route
	! [ -e /proc/net/ipv6_route ] || awk '{ print "route", $1, $2, $3, $4, $5, $10 }' /proc/net/ipv6_route
	find /sys/fs/cgroup -type d | sed 's/^/group /'
	! [ -e /proc/modules ] || sed 's/ .*//; s/^/module /' /proc/modules
}
