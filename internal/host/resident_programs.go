package host

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// databases are programs that keep data for others, and their products.
var databases = map[string]string{
	"postgres": "PostgreSQL", "mysqld": "MySQL", "mariadbd": "MariaDB", "mongod": "MongoDB", "redis-server": "Redis",
	"valkey-server": "Valkey", "keydb-server": "KeyDB", "memcached": "memcached", "etcd": "etcd", "influxd": "InfluxDB",
	"clickhouse-server": "ClickHouse", "clickhouse": "ClickHouse", "cockroach": "CockroachDB", "sqlservr": "SQL Server",
	"db2sysc": "Db2", "rethinkdb": "RethinkDB", "tikv-server": "TiKV", "scylla": "ScyllaDB", "slapd": "OpenLDAP",
	"ceph-osd": "Ceph OSD", "ceph-mon": "Ceph monitor", "glusterfsd": "GlusterFS", "minio": "MinIO",
}

// javaDatabases are the prefixes of arguments by which products in Java are known.
var javaDatabases = map[string]string{
	"org.elasticsearch.": "Elasticsearch", "org.opensearch.": "OpenSearch", "org.apache.cassandra.": "Cassandra",
	"kafka.Kafka": "Kafka",
}

// orchestrators are programs that run containers on behalf of another host.
var orchestrators = map[string]string{
	"kubelet": "kubelet", "kubelite": "MicroK8s", "k3s": "K3s", "k3s-server": "K3s", "k3s-agent": "K3s", "rke2": "RKE2",
	"nomad": "Nomad",
}

// ownServices listen for whoever administers the host.
var ownServices = map[string]bool{"sshd": true, "dropbear": true, "systemd-resolved": true}

var interpreters = map[string]bool{"python": true, "perl": true, "sh": true, "bash": true, "ruby": true}

// Names of engines that a control group does not tell.
const (
	kubernetes = "kubernetes" // containerd or CRI-O
	anyRuntime = "an OCI runtime"
)

// ociGroup is the name of the control group of a container: that of its engine or runtime, and the container's
// identity.
var ociGroup = regexp.MustCompile(`^(?:(docker|libpod|crio|cri-containerd|nerdctl)-)?([0-9a-f]{64})(?:\.scope)?$`)

var engines = map[string]string{
	"docker": "docker", "libpod": "podman", "crio": "CRI-O", "cri-containerd": "containerd", "nerdctl": "containerd",
}

// containerIn says which container the processes of a control group are in: the outermost. No identity: in none.
func containerIn(group string) (engine, id string) {
	parts := strings.FieldsFunc(group, func(c rune) bool { return c == '/' || c == ':' })
	for i, part := range parts {
		before := ""
		if i > 0 {
			before = parts[i-1]
		}
		if name, ok := strings.CutPrefix(part, "lxc.payload."); ok {
			return "LXC", name
		}
		if before == "lxc.payload" || before == "lxc" {
			return "LXC", part
		}
		m := ociGroup.FindStringSubmatch(part)
		switch {
		case m == nil:
		case m[1] != "":
			return engines[m[1]], m[2]
		case engines[before] != "": // "/docker/ID", "system.slice:cri-containerd:ID"
			return engines[before], m[2]
		case strings.HasPrefix(parts[0], "kubepods"):
			return kubernetes, m[2]
		default:
			return anyRuntime, m[2]
		}
	}
	return "", ""
}

// shimmed says which container the arguments of an engine's helper name; no identity: none. The helper of a pod
// names the container that holds the pod together.
func shimmed(args []string) (engine, id string) {
	if len(args) == 0 {
		return "", ""
	}
	if f := strings.Fields(args[0]); len(f) == 4 && f[0]+f[1] == "[lxcmonitor]" { // "[lxc monitor] /var/lib/lxc web"
		switch {
		case strings.Contains(f[2], "incus"):
			return "Incus", f[3]
		case strings.Contains(f[2], "lxd"):
			return "LXD", f[3]
		}
		return "LXC", f[3]
	}
	if strings.HasPrefix(path.Base(args[0]), "containerd-shim") {
		engine = "containerd"
		if after(args, "-namespace") == "moby" {
			engine = "docker"
		}
		return engine, after(args, "-id")
	}
	return "", ""
}

// after returns the argument that follows a flag; "": there is none.
func after(args []string, flag string) string {
	i := slices.Index(args, flag)
	if i < 0 || i+1 >= len(args) {
		return ""
	}
	return args[i+1]
}

// vmmOf returns the product that runs a virtual machine in this process; "": none. A QEMU that serves a Xen domain
// is a part of that.
func vmmOf(name string, args []string) string {
	switch name {
	case "firecracker", "crosvm":
		return name
	case "cloud-hypervisor":
		return "Cloud Hypervisor"
	case "VBoxHeadless", "VirtualBoxVM":
		return "VirtualBox"
	case "vmware-vmx":
		return "VMware"
	}
	if !strings.HasPrefix(name, "qemu-system") && name != "qemu-kvm" && name != "kvm" ||
		slices.Contains(args, "-xen-domid") || slices.Contains(args, "-xen-attach") {
		return ""
	}
	all := strings.Join(args, " ")
	for _, of := range []struct{ in, product string }{
		{"/libvirt/", "libvirt"}, {"/qemu-server/", "Proxmox VE"}, {"/incus/", "Incus"}, {"/lxd/", "LXD"},
	} {
		if strings.Contains(all, of.in) {
			return of.product
		}
	}
	return "QEMU"
}

// backupPrograms run only while they back up.
var backupPrograms = []string{"restic", "borg", "borgmatic", "vzdump", "proxmox-backup-client", "duplicity",
	"duplicati", "kopia", "rdiff-backup", "rsnapshot", "pg_dump", "pg_dumpall", "pg_basebackup", "pgbackrest", "mysqldump",
	"mariadb-dump", "mariabackup", "mariadb-backup", "xtrabackup", "mongodump", "partclone", "xfsdump", "vma"}

// backsUp reports whether a process copies data to keep it safe, or may do so.
func backsUp(name string, args []string) bool {
	switch name {
	case "rsync":
		return !slices.Contains(args, "--daemon")
	case "rclone":
		return contains(args, "sync", "copy", "move", "bisync")
	case "zfs", "btrfs":
		return contains(args, "send")
	case "tar":
		return slices.Contains(args, "--create") || slices.ContainsFunc(args, creates.MatchString) ||
			len(args) > 0 && creates.MatchString("-"+args[0])
	}
	return slices.Contains(backupPrograms, name)
}

// creates is tar's flag to write an archive, among others: "-czf".
var creates = regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`)

// upgrades reports whether a process changes the installed packages.
func upgrades(name string, args []string) bool {
	switch name {
	case "apt", "apt-get", "aptitude":
		return contains(args, "install", "remove", "purge", "autoremove", "upgrade", "dist-upgrade", "full-upgrade",
			"reinstall")
	case "dnf", "dnf5", "yum", "zypper", "tdnf", "microdnf":
		return contains(args, "install", "in", "remove", "rm", "upgrade", "update", "up", "dup", "reinstall", "autoremove",
			"distro-sync")
	case "apk":
		return contains(args, "add", "del", "upgrade")
	case "unattended-upgrade":
		return true
	case "pacman":
		return len(args) > 0 && (strings.HasPrefix(args[0], "-S") || strings.HasPrefix(args[0], "-R") ||
			strings.HasPrefix(args[0], "-U"))
	case "dpkg", "rpm":
		return contains(args, "-i", "--install", "--unpack", "--configure", "-r", "--remove", "-P", "--purge", "-U", "-Uvh",
			"--upgrade", "-e", "--erase")
	}
	return name == "nixos-rebuild"
}

func contains(args []string, any ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(any, a) })
}
