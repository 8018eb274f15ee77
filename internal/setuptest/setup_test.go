package setuptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// packages stand for those of a host that works for others, with the conflicts of the real ones. Each has the programs
// in its third field.
var packages = []struct {
	name, version string
	fields        []string
	programs      string
}{
	{"containerd.io", "1.7.27-1", []string{"Provides: containerd, runc", "Conflicts: containerd, runc",
		"Replaces: containerd, runc"}, "containerd runc"},
	{"docker-ce", "5:28.2.2-1", []string{"Depends: containerd.io", "Conflicts: docker.io", "Replaces: docker.io"},
		"dockerd"},
	// Without qemu-img, so that setup asks for qemu-utils.
	{"pve-qemu-kvm", "10.0.2-4", []string{"Provides: qemu-system-x86, qemu-utils",
		"Conflicts: qemu-system-x86, qemu-system-arm, qemu-system-common, qemu-utils, qemu-kvm", "Replaces: qemu-utils"},
		"qemu-system-x86_64"},
	{"lxc-pve", "6.0.4-1", []string{"Provides: lxc", "Conflicts: lxc, liblxc1", "Replaces: lxc"}, "lxc-start"},
	{"podman", "5:5.3.1-1", []string{"Conflicts: crun", "Replaces: crun"}, "podman"},
	{"kubelet", "1.33.1-1.1", []string{"Depends: containerd.io"}, "kubelet"},
	// Older than Debian's, which a newer package would upgrade.
	{"libaio1", "0.1", nil, ""},
}

// host makes a Debian tree with a mirror and the stand-ins in it, and returns its directory.
func host(t *testing.T) string {
	t.Helper()
	if os.Getenv("TARE_LIVE") != "1" || os.Getuid() != 0 {
		t.Skip("set TARE_LIVE=1 to install packages in a Debian tree (root, a Debian mirror)")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the packages that stand for others are those of amd64")
	}
	const cache = "/var/cache/tare-userlands/bookworm-apt"
	if _, err := os.Stat(cache); err != nil {
		part := cache + fmt.Sprintf(".part-%d", os.Getpid())
		must(t, os.MkdirAll(filepath.Dir(cache), 0o755))
		defer os.RemoveAll(part)
		out, err := exec.Command("mmdebstrap", "--variant=apt", "--include=ca-certificates,init-system-helpers,procps",
			"--skip=cleanup/apt", "bookworm", part, "deb http://deb.debian.org/debian bookworm main").CombinedOutput()
		if err != nil {
			t.Skipf("no Debian tree: its packages cannot be had: %v\n%s", err, out)
		}
		if err := os.Rename(part, cache); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	tree := filepath.Join(t.TempDir(), "tree")
	run(t, "cp", "-a", "--reflink=auto", cache, tree)
	run(t, "cp", "-r", standIns(t), filepath.Join(tree, "tmp/debs"))
	in(t, tree, "dpkg -i /tmp/debs/*.deb && rm -r /tmp/debs")
	return tree
}

// standIns builds the packages and returns their directory.
func standIns(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range packages {
		standIn(t, dir, p.name, "Version: "+p.version+"\n"+strings.Join(p.fields, "\n"), p.programs)
	}
	return dir
}

// standIn builds a package in dir, with a service for each of its programs. These note their calls in /run/calls and do
// nothing else, or wait if their argument is serve.
func standIn(t *testing.T, dir, name, control, programs string) {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, path), []byte(text), mode))
	}
	write("DEBIAN/control", "Package: "+name+"\n"+strings.TrimSpace(control)+"\nArchitecture: amd64\nMulti-Arch: same\n"+
		"Maintainer: Nobody <nobody@example.org>\nDescription: stands for the real one\n", 0o644)
	for program := range strings.FieldsSeq(programs) {
		write("usr/bin/"+program, "#!/bin/sh\necho \"$0 $*\" >>/run/calls\n"+
			"[ \"$1\" != serve ] || while :; do sleep 1000; done\n", 0o755)
		write("usr/lib/systemd/system/"+program+".service", "[Service]\nExecStart=/usr/bin/"+program+"\n", 0o644)
		write("etc/"+program+"/config", "as its owner wants it\n", 0o644)
	}
	run(t, "dpkg-deb", "--root-owner-group", "--build", root, filepath.Join(dir, name+".deb"))
}

// in runs a shell script in the tree, with process IDs and mounts of its own, tare's sources in /src and the host's Go,
// and returns its output.
func in(t *testing.T, tree, script string) string {
	t.Helper()
	src, err := filepath.Abs("../..")
	must(t, err)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "sh", "-ec", `
		tree=$1 src=$2 goroot=$3
		for dir in dev sys; do mount --rbind /$dir "$tree/$dir"; done
		mount -t proc proc "$tree/proc"
		mkdir -p "$tree/src" "$tree/usr/local/go" "$tree/run/state"
		mount --bind "$src" "$tree/src"
		mount --bind "$goroot" "$tree/usr/local/go"
		cmp -s /etc/resolv.conf "$tree/etc/resolv.conf" || cat /etc/resolv.conf >"$tree/etc/resolv.conf"
		exec chroot "$tree" sh -c 'cd /src && eval "$1"' sh "$4"`,
		"sh", tree, src, strings.TrimSpace(string(goroot)), script)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// state lists the packages, the files below /etc and /usr, and the processes of a tree.
var state = digestScript + "packages; files /etc /usr; processes"

// TestSetup installs what quick needs on a host that works for others. Its packages, files and services stay as they
// are, and what cannot be installed without a change to them is left out, with the reason.
func TestSetup(t *testing.T) {
	t.Parallel()
	tree := host(t)
	before := in(t, tree, state)
	plan := in(t, tree, "TMPDIR=/tmp ./scripts/setup plan 2>&1")
	if after := in(t, tree, state); after != before {
		t.Errorf("a plan changed the host:%s", difference(before, after))
	}
	said := in(t, tree, "TMPDIR=/tmp ./scripts/setup run 2>&1")
	t.Log(plan)
	t.Log(said)
	for _, want := range []string{"nothing is removed or upgraded", "undo with: apt-get purge "} {
		if !strings.Contains(said, want) {
			t.Errorf("setup does not say %q", want)
		}
	}
	for _, want := range []string{
		"leaving out qemu-utils: apt would remove pve-qemu-kvm and upgrade libaio1",
		"leaving out fio: apt would upgrade libaio1", "openssh-server",
	} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not say %q", want)
		}
	}
	after := in(t, tree, state)
	compare(t, tree, before, after, said)
	if again := in(t, tree, "TMPDIR=/tmp ./scripts/setup run 2>&1"); strings.Contains(again, "installs") {
		t.Errorf("a second call installs more:\n%s", again)
	}
}

// TestSetupServices installs packages with services: none of them starts, or would at the next boot.
func TestSetupServices(t *testing.T) {
	t.Parallel()
	tree := host(t)
	// What is large and has no service is there already.
	in(t, tree, `for p in chromium gcc git perf python3 bonnie++ stress-ng qemu-img fio sysbench mkfs.xfs; do
			ln -s /bin/true /usr/local/bin/$p
		done
		mkdir -p /usr/include && touch /usr/include/stdio.h`)
	before := in(t, tree, state)
	// What the scripts build is on this host, and takes minutes.
	said := in(t, tree, "mkdir /tmp/copy && cp -r go.mod scripts /tmp/copy && cd /tmp/copy && "+
		"for f in scripts/install-*; do ln -sf /bin/true $f; done && sh scripts/setup test </dev/null 2>&1")
	after := in(t, tree, state)
	compare(t, tree, before, after, said)
	if !strings.Contains(after, "package openssh-server ") {
		t.Errorf("nothing with a service was installed:\n%s", said)
	}
	was := set(before)
	for line := range set(after) {
		link := strings.HasPrefix(line, "file /etc/systemd/system/") || strings.HasPrefix(line, "file /etc/rc")
		if link && strings.Contains(line, " l ") && !was[line] {
			t.Errorf("a service would start at the next boot: %s", line)
		}
	}
}

// compare checks that what was there is there unchanged, and that what is new belongs to announced packages.
func compare(t *testing.T, tree, before, after, said string) {
	t.Helper()
	is, was := set(after), set(before)
	for line := range was {
		if !is[line] && !cache(line) {
			t.Errorf("gone or changed: %s", line)
		}
	}
	owned := map[string]bool{}
	_, undo, _ := strings.Cut(said, "undo with: apt-get purge ")
	undo, _, _ = strings.Cut(undo, "\n")
	for path := range strings.SplitSeq(in(t, tree, "for p in "+undo+
		"; do cat /var/lib/dpkg/info/$p.list /var/lib/dpkg/info/$p:*.list 2>/dev/null; done || :"), "\n") {
		owned[path], owned["/usr"+path] = true, true // /bin and /lib are links
	}
	for line := range is {
		fields := strings.Fields(line)
		switch {
		case was[line] || len(fields) < 2 || fields[0] == "content":
		case fields[0] == "package":
			if !strings.Contains(" "+undo+" ", " "+fields[1]+" ") {
				t.Errorf("a package that was not announced: %s", line)
			}
		case fields[0] == "process":
			t.Errorf("a process was started: %s", line)
		case !owned[fields[1]] && !cache(line):
			t.Errorf("a file of no announced package: %s", line)
		}
	}
}

// cache recognizes what dpkg's tools make anew from what is installed, the lists of users, which packages extend, and
// what packages write when they are configured.
func cache(line string) bool {
	for _, path := range []string{
		"/etc/ld.so.cache", "/etc/alternatives", "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow",
		"/etc/subuid", "/etc/subgid", "/etc/ssl/certs", "/usr/share/mime", "/usr/lib/python3",
		"/usr/share/python3", "/usr/local/lib/python3", "/etc/python3", "/__pycache__", "/etc/mtab",
		"/etc/inputrc", "/etc/networks", "/etc/hosts.allow", "/etc/hosts.deny", "/usr/local/share/",
		"/etc/runit/", "/usr/share/info/dir", "/etc/.pwd.lock", "/usr/share/applications/mimeinfo.cache",
		"/usr/share/glib-2.0/schemas/gschemas.compiled", "/etc/machine-id",
		"/usr/lib/x86_64-linux-gnu/gio/modules/giomodule.cache", "/gdk-pixbuf-2.0/", "/etc/resolv.conf",
		"/etc/shells", "/usr/lib/locale", "/usr/share/dbus-1", "/var/", "/etc/ssh/", "/etc/mailcap",
	} {
		if strings.Contains(line, path) {
			return true
		}
	}
	return false
}

func set(text string) map[string]bool {
	m := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		m[line] = true
	}
	return m
}

// difference lists lines of one text that the other lacks, or has less often.
func difference(before, after string) string {
	var b strings.Builder
	lacks := func(sign, one, other string) {
		has := map[string]int{}
		for line := range strings.SplitSeq(other, "\n") {
			has[line]++
		}
		for line := range strings.SplitSeq(one, "\n") {
			if has[line]--; has[line] < 0 {
				fmt.Fprintf(&b, "\n%s %s", sign, line)
			}
		}
	}
	lacks("-", before, after)
	lacks("+", after, before)
	return b.String()
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
