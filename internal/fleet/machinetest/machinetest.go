// Package machinetest makes machines for tests of fleets: containers with namespaces, control groups, a userland and an
// sshd of their own. They end with the test. If the test's process is killed, they end with it, and tare gc removes
// their control groups.
package machinetest

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/instance"
)

// Machine is a machine to make.
type Machine struct {
	Name     string
	Userland string        // This, BusyBox, or a key of suites
	Limits   cgroup.Limits // of everything on it
	Images   string        // directory of userland images that it has; "": it has none
	Tools    []string      // programs of this host that it has, if its userland has not
	Prepare  string        // a shell script that changes its root, which is the working directory
	Reaches  []string      // addresses on this host's loopback that are also on the machine's, which has no network
}

// Userlands that are not made of packages.
const (
	This    = "this"    // that of this host, in a copy on write
	BusyBox = "busybox" // a static busybox and what sshd needs: neither packages, bash nor mkfs
)

// suites are userlands that mmdebstrap makes, with the archives that have them.
var suites = map[string]string{
	"trixie":   "deb http://deb.debian.org/debian trixie main",
	"bookworm": "deb http://deb.debian.org/debian bookworm main",
	"noble":    "deb [trusted=yes] http://archive.ubuntu.com/ubuntu noble main", // for tests: Debian has no keys of Ubuntu
	"jammy":    "deb [trusted=yes] http://archive.ubuntu.com/ubuntu jammy main",
}

// cache keeps the userlands for the next test.
var cache = "/var/cache/tare-userlands"

//go:embed machine.sh
var script string

// dialPort makes the test's own program connect its standard input and output to a port.
const dialPort = "TARE_MACHINETEST_DIAL"

func init() {
	address := os.Getenv(dialPort)
	if address == "" {
		return
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		io.Copy(c, os.Stdin)
		c.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(os.Stdout, c)
	os.Exit(0)
}

// Start starts machines and returns the path of an ssh configuration in which they have their names. It skips the test
// where there can be none.
func Start(t *testing.T, machines ...Machine) (config string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("machines of a fleet need root")
	}
	for _, tool := range []string{"/usr/sbin/sshd", "ssh", "unshare", "nsenter", "pivot_root", "busybox"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("machines of a fleet need %s", tool)
		}
	}
	// Control groups of an instance that is dead are leftovers, which tare gc removes.
	owner, err := instance.New()
	must(t, err)
	t.Cleanup(func() { must(t, owner.Close()) })
	dir := t.TempDir()
	keygen(t, filepath.Join(dir, "user"))
	var text strings.Builder
	for _, m := range machines {
		home := filepath.Join(dir, m.Name)
		must(t, os.Mkdir(home, 0o700))
		pid := start(t, m, owner.ID, home, filepath.Join(dir, "user.pub"))
		for _, address := range m.Reaches {
			relay(t, pid, address)
		}
		key, err := os.ReadFile(filepath.Join(home, "host.pub"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(home, "known"), []byte(m.Name+" "+string(key)), 0o600))
		fmt.Fprintf(&text, "Host %s\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n"+
			"  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"+
			"  ProxyCommand nsenter --target %d --net env %s=127.0.0.1:22 %s\n",
			m.Name, filepath.Join(dir, "user"), filepath.Join(home, "known"), pid, dialPort, os.Args[0])
	}
	config = filepath.Join(dir, "ssh")
	must(t, os.WriteFile(config, []byte(text.String()), 0o600))
	for _, m := range machines {
		until(t, m.Name+" answers", func() bool {
			return exec.Command("ssh", "-F", config, "-o", "BatchMode=yes", m.Name, "true").Run() == nil
		})
	}
	return config
}

// start starts a machine and returns the process id of its first process.
func start(t *testing.T, m Machine, owner, home, users string) int {
	t.Helper()
	keygen(t, filepath.Join(home, "host"))
	must(t, os.Symlink(users, filepath.Join(home, "user.pub")))
	if m.Images != "" {
		must(t, os.Symlink(m.Images, filepath.Join(home, "images")))
	}
	tree, tools := userland(t, m.Userland, home), strings.Join(m.Tools, " ")
	if m.Userland == BusyBox {
		tools += " /usr/sbin/sshd flock"
		for _, helper := range []string{"/usr/lib/openssh/sshd-session", "/usr/lib/openssh/sshd-auth"} {
			if _, err := os.Stat(helper); err == nil { // of newer versions
				tools += " " + helper
			}
		}
	}
	layout, err := cgroup.Detect()
	must(t, err)
	group, err := layout.New(owner+"-machine-"+m.Name, m.Limits)
	must(t, err)
	log := &bytes.Buffer{}
	// It waits for a byte: its control group is to be the root of those that it sees.
	cmd := exec.Command("sh", "-c", "read -r _; exec unshare --mount --pid --net --uts --ipc --cgroup "+
		`--fork --kill-child sh -c "$@" <&-`, "sh", script, "machine.sh", tree, home, m.Name, tools, m.Prepare)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	must(t, err)
	locked := make(chan error)
	ended := make(chan struct{})
	go func() { // the parent-death signal is tied to the thread
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		locked <- cmd.Start()
		cmd.Wait()
		close(ended)
	}()
	must(t, <-locked)
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%s:\n%s", m.Name, log.Bytes())
		}
		until(t, m.Name+"'s processes end", func() bool {
			left, err := group.Processes()
			return err != nil || len(left) == 0
		})
		if err := group.Remove(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	})
	must(t, group.Add(cmd.Process.Pid))
	must(t, joinOthers(layout, group, cmd.Process.Pid))
	_, err = io.WriteString(in, "\n")
	must(t, err)
	first := 0
	until(t, m.Name+" starts", func() bool {
		select {
		case <-ended:
			t.Fatalf("%s did not start:\n%s", m.Name, log.Bytes())
		default:
		}
		p := cmd.Process.Pid
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p, p))
		_, err := fmt.Sscan(string(children), &first)
		return err == nil
	})
	return first
}

// joinOthers moves a process into the group in the hierarchies that limit nothing, too. A machine that had no group
// there would see those of this host.
func joinOthers(layout cgroup.Layout, group *cgroup.Group, pid int) error {
	for _, at := range layout.V1 {
		dir := filepath.Join(at, group.Name())
		if err := os.Mkdir(dir, 0o755); os.IsExist(err) {
			continue
		} else if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
			return err
		}
	}
	return nil
}

// userland returns a tree, and makes it first if the cache does not have it.
func userland(t *testing.T, name, home string) string {
	t.Helper()
	switch name {
	case This:
		return "/"
	case BusyBox:
		tree := filepath.Join(home, "tree")
		must(t, os.MkdirAll(filepath.Join(tree, "bin"), 0o755))
		for _, dir := range []string{"sbin", "usr", "lib", "lib64", "etc"} {
			must(t, os.Mkdir(filepath.Join(tree, dir), 0o755))
		}
		run(t, "cp", "/bin/busybox", filepath.Join(tree, "bin"))
		run(t, "chroot", tree, "/bin/busybox", "--install", "-s", "/bin")
		for _, other := range []string{"mke2fs", "dpkg", "rpm"} {
			os.Remove(filepath.Join(tree, "bin", other))
		}
		return tree
	}
	must(t, os.MkdirAll(cache, 0o755))
	lock, err := os.OpenFile(filepath.Join(cache, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	must(t, err)
	defer lock.Close()
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)) // tests of two packages need the same
	tree, part := filepath.Join(cache, name), filepath.Join(cache, ".part")
	if _, err := os.Stat(tree); err == nil {
		return tree
	}
	must(t, os.RemoveAll(part)) // of a killed test
	defer os.RemoveAll(part)
	// In a mount namespace of its own: other tests would take what it mounts for theirs, and keep it.
	out, err := exec.Command("unshare", "--mount", "mmdebstrap", "--variant=minbase", "--include=openssh-server,e2fsprogs",
		name, part, suites[name]).CombinedOutput()
	if err != nil {
		t.Skipf("no userland %s: its packages cannot be had: %v\n%s", name, err, out)
	}
	must(t, os.Rename(part, tree))
	return tree
}

func keygen(t *testing.T, path string) {
	t.Helper()
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
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

// until waits for something that must come.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			t.Fatal("it never happens: " + what)
		}
	}
}
