package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// hostWith makes the tree of a host with these processes, one a line: "number name | control group | addresses on
// which it listens | arguments". A ~ is a space, {a} the identity of a container. A parent follows the number:
// "11<10"; process 1 has none to follow, and a kernel thread "<0". tare is process 2.
func hostWith(processes string) fstest.MapFS {
	tree := fstest.MapFS{"proc/self": {Data: []byte("2"), Mode: fs.ModeSymlink}}
	tcp, inode := "  sl  local_address rem_address   st\n", 1000
	identity := regexp.MustCompile(`\{(.)\}`)
	processes = identity.ReplaceAllStringFunc(processes, func(s string) string { return id(s[1:2]) })
	for line := range strings.Lines(processes + "\n1 systemd | /init.scope ||\n2 tare | /user.slice ||\n") {
		f := strings.Split(line, "|")
		if len(f) < 4 {
			continue
		}
		number, name, _ := strings.Cut(strings.TrimSpace(f[0]), " ")
		pid, parent, has := strings.Cut(number, "<")
		flags := 0
		if !has {
			parent = "1"
		} else if parent == "0" {
			flags = 0x00200000 // PF_KTHREAD
		}
		space := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "~", " ") }
		put := func(file, text string) { tree["proc/"+pid+"/"+file] = &fstest.MapFile{Data: []byte(text)} }
		put("stat", fmt.Sprintf("%s (%s) S %s 1 1 0 -1 %d 0 0 0 0 5 5 0 0 20 0 1 0 77 0", pid, space(name), parent, flags))
		put("cgroup", "4:memory:"+space(f[1])+"\n0::"+space(f[1])+"\n")
		put("cmdline", space(strings.Join(strings.Fields(f[3]), "\x00"))+"\x00")
		for i, address := range strings.FieldsFunc(strings.TrimSpace(f[2]), func(c rune) bool { return c == ',' }) {
			inode++
			a := netip.MustParseAddrPort(address)
			ip := a.Addr().As4()
			tcp += fmt.Sprintf("  0: %08X:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 %d 1 0\n",
				binary.NativeEndian.Uint32(ip[:]), a.Port(), inode)
			tree[fmt.Sprintf("proc/%s/fd/%d", pid, i+3)] = &fstest.MapFile{Data: fmt.Appendf(nil, "socket:[%d]", inode),
				Mode: fs.ModeSymlink}
		}
	}
	tree["proc/1/net/tcp"] = &fstest.MapFile{Data: []byte(tcp)}
	return tree
}

func residentsOf(tree fstest.MapFS) (texts []string) {
	for _, r := range Read(Options{Root: tree}).Residents {
		texts = append(texts, r.String())
	}
	return texts
}

func id(c string) string { return strings.Repeat(c, 64) }

func TestResidents(t *testing.T) {
	const unattended = "/usr/bin/python3 /usr/share/unattended-upgrades/unattended-upgrade"
	for _, c := range []struct {
		name  string
		procs string
		want  []string
	}{
		{"quiet", `
			10 sshd | /system.slice/ssh.service | 0.0.0.0:22 | sshd:~/usr/sbin/sshd~-D
			11 systemd-resolve || 0.0.0.0:5355 | /lib/systemd/systemd-resolved
			12 exim4 || 127.0.0.1:25 | /usr/sbin/exim4 -bd
			13 unattended-upgr ||| ` + unattended + `-shutdown --wait
			14 dockerd ||| /usr/bin/dockerd -H fd://
			15 rsync ||| /usr/bin/rsync --daemon --no-detach
			16 apt-get ||| apt-get download bash
			17 tar ||| tar xzf archive.tgz
		`, nil},
		{"docker", `
			10 nginx | /system.slice/docker-{a}.scope || nginx
			11<10 nginx | /system.slice/docker-{a}.scope || nginx
			12 sleep | /docker/{b} || sleep 9
			13 containerd-shim ||| /usr/bin/containerd-shim-runc-v2 -namespace moby -id {a}
			14 docker-proxy || 0.0.0.0:80 | /usr/bin/docker-proxy -proto tcp
			15 docker-proxy || 0.0.0.0:443 | /usr/bin/docker-proxy -proto tcp
		`, []string{"2 containers of docker", "docker-proxy, TCP ports 80, 443"}},
		{"containerd without docker", `
			10 redis-server | /default/cache || redis-server~*:6379
			11 containerd-shim ||| /usr/bin/containerd-shim-runc-v2 -namespace default -id cache
		`, []string{"1 container of containerd", "Redis"}},
		{"kubernetes with containerd", `
			10 kubelet || 0.0.0.0:10250,127.0.0.1:10248 | /usr/bin/kubelet
			11 pause | /kubepods/burstable/pod1/{c} || /pause
			12 app | /kubepods.slice/kubepods-pod1.slice/cri-containerd-{d}.scope || /app
			13 app | /system.slice:cri-containerd:{e} || /app
		`, []string{"3 containers of containerd", "kubelet, TCP ports 10248, 10250"}},
		{"kubernetes with CRI-O", `
			10 app | /kubepods/pod1/{c} || /app
			11 app | /kubepods.slice/crio-{d}.scope || /app
			12 conmon | /kubepods.slice/crio-conmon-{e}.scope || /usr/bin/conmon
			99 crio ||| /usr/bin/crio
		`, []string{"2 containers of CRI-O"}},
		{"podman", `
			10 app | /machine.slice/libpod-{1}.scope/container || /app
			11 app | /libpod_parent/libpod-{2} || /app
			12 conmon | /machine.slice/libpod-conmon-{1}.scope || /usr/bin/conmon
		`, []string{"2 containers of podman"}},
		{"a runtime by hand", `
			10 app | /build/{f} || /app
		`, []string{"1 container of an OCI runtime"}},
		{"lxc", `
			10 init | /lxc.payload.web/init.scope || /sbin/init
			11 lxc-start | /lxc.monitor.web || [lxc~monitor]~/var/lib/lxc~web
			12 init | /lxc/101/ns || /sbin/init
		`, []string{"2 containers of LXC"}},
		{"incus", `
			10 init | /lxc.payload.db/init.scope | 0.0.0.0:80 | /sbin/init
			11 [lxc~monitor]~/ | /lxc.monitor.db || [lxc~monitor]~/var/lib/incus/containers~db
			12 qemu-system-x86 ||| /opt/incus/bin/qemu-system-x86_64 -S -name vm -qmp /run/incus/vm/qemu
		`, []string{"1 container of Incus, TCP port 80", "1 machine of Incus"}},
		{"nspawn and libvirt-lxc", `
			10 systemd-nspawn ||| systemd-nspawn --machine=a
			11 libvirt_lxc ||| /usr/lib/libvirt/libvirt_lxc --name b
		`, []string{"1 container of libvirt", "1 container of systemd-nspawn"}},
		{"machines", `
			10 qemu-system-x86 | /machine.slice/machine-qemu.scope/libvirt/emulator || /usr/bin/qemu-system-x86_64 -object file=/var/lib/libvirt/qemu/domain-1-a/key
			11 kvm ||| /usr/bin/kvm -id 101 -chardev socket,path=/var/run/qemu-server/101.qmp
			12 kvm ||| /usr/bin/kvm -id 102 -chardev socket,path=/var/run/qemu-server/102.qmp
			13 qemu-system-aar ||| qemu-system-aarch64 -M virt
			14 qemu-system-i38 ||| qemu-system-i386 -xen-domid 3
			15 firecracker ||| /firecracker --id x
			16<0 kvm-nx-lpage-re ||  |
		`, []string{"2 machines of Proxmox VE", "1 machine of QEMU", "1 machine of firecracker", "1 machine of libvirt"}},
		{"databases", `
			10 postgres || 127.0.0.1:5432 | /usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql
			11<10 postgres ||| postgres:~checkpointer
			12 java ||| /usr/bin/java -Xmx1g org.apache.cassandra.service.CassandraDaemon
			13<0 nfsd ||  |
			14<0 nfsd ||  |
		`, []string{"Cassandra", "NFS server, TCP port 2049", "PostgreSQL, TCP port 5432"}},
		{"services", `
			10 nginx || 0.0.0.0:80 | nginx:~master~process~/usr/sbin/nginx
			11<10 nginx || 0.0.0.0:81 | nginx:~worker~process
			12 gunicorn || 0.0.0.0:8080 | /usr/bin/python3 /usr/bin/gunicorn app
			13 python3.11 || 10.0.0.2:8081 | python3 /opt/app/serve.py
		`, []string{"gunicorn, TCP port 8080", "nginx, TCP ports 80, 81", "serve.py, TCP port 8081"}},
		{"work under way", `
			10 rsync ||| rsync -a /srv backup:/srv
			11 borg ||| /usr/bin/python3 /usr/bin/borg create /backup::now /
			12 proxmox-backup- ||| /usr/bin/proxmox-backup-client backup
			13 proxmox-backup- || 0.0.0.0:8087 | /usr/lib/x/proxmox-backup-proxy
			14 tar ||| tar -C / -czf /mnt/all.tgz srv
			15 zfs ||| zfs send pool@now
			16 apt-get ||| apt-get -y dist-upgrade
			17 unattended-upgr ||| ` + unattended + `
			18 dnf ||| /usr/bin/python3 /usr/bin/dnf upgrade
		`, []string{"proxmox-backup-proxy, TCP port 8087", "backup by borg", "backup by proxmox-backup-client",
			"backup by rsync", "backup by tar", "backup by zfs", "package upgrade by apt-get", "package upgrade by dnf",
			"package upgrade by unattended-upgrade"}},
		{"tare's own", `
			10 tare || 0.0.0.0:8080 | tare serve
			11<10 apt-get ||| apt-get install fio
			12 postgres | /tare-x-1/lxc.payload.web | 0.0.0.0:5432 | postgres
			13 qemu-system-x86 | /tare-x-2 || qemu-system-x86_64
		`, nil},
	} {
		if got := residentsOf(hostWith(c.procs)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestResidentsOfContainer: in a container, the container itself is no resident.
func TestResidentsOfContainer(t *testing.T) {
	tree := hostWith("3 bash | /docker/{a} || bash\n4 app | /docker/{b} || app")
	tree["proc/1/cgroup"].Data = []byte("0::/docker/" + id("a"))
	if got, want := residentsOf(tree), []string{"1 container of docker"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestXenAndRAID(t *testing.T) {
	tree := hostWith("")
	for _, device := range []string{"vbd-3-51712", "vif-3-0", "console-12-0", "odd"} {
		tree["sys/bus/xen-backend/devices/"+device] = &fstest.MapFile{}
	}
	tree["proc/mdstat"] = &fstest.MapFile{Data: []byte("md0 : active raid1 sdb1[1]\n  [>..]  check =  4.0% (1/25)\n")}
	if got, want := residentsOf(tree), []string{"2 machines of Xen", "md0: check 4.0%"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func FuzzResidents(f *testing.F) {
	f.Add("docker", "/usr/bin/docker\x00run", "0::/docker/"+id("a")+"\n")
	f.Add("[lxc monitor] /", "[lxc monitor] /var/lib/lxc web\x00", "1:name=systemd:/lxc.payload.web\n0::/\n")
	f.Add("unattended-upgr", "python3\x00/usr/bin/unattended-upgrade", "0::/system.slice:cri-containerd:"+id("b"))
	f.Fuzz(func(t *testing.T, name, cmdline, groups string) {
		tree := hostWith("9 name | / | 0.0.0.0:80 | x")
		tree["proc/9/stat"].Data = bytes.Replace(tree["proc/9/stat"].Data, []byte("name"), []byte(name), 1)
		tree["proc/9/cmdline"].Data, tree["proc/9/cgroup"].Data = []byte(cmdline), []byte(groups)
		if _, there := (procfs.FS{Root: tree, Proc: "/proc"}).Processes()[9]; !there {
			return // the name pretends to be the rest of the line
		}
		for _, r := range Read(Options{Root: tree}).Residents {
			if r.Who == "" && name != "" || r.Count < 0 || strings.ContainsAny(r.String(), "\x1b\n\x00") {
				t.Errorf("%+v", r)
			}
		}
	})
}
