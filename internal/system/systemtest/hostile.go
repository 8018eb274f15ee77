package systemtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/volume"
)

// Hostile is the suite for guests that attack the host, as root in the guest. The host's files, devices and settings
// and the shared userland must be the same afterwards, the next guest must work, and nothing may be left behind. It
// skips systems whose guests tare does not create. "native" does not run it, since it confines nothing.
func Hostile(t *testing.T, d system.Driver) {
	h := Host(t)
	if caps := d.Capabilities(); caps.InMemory || caps.Remote {
		t.Skip("tare does not create its guests")
	}
	before := snapshot(t, h)
	t.Run("guest", func(t *testing.T) {
		v := newVictim(t, h)
		s := suite{d: d, m: launch(t, d, h, "hostile", Request())}
		machine := !d.Capabilities().SameKernel && !d.Capabilities().HostMount
		if machine {
			t.Run("privileges", func(t *testing.T) { testPrivileges(t, s.m) })
		}
		for _, a := range attacks {
			if a.ownKernel && !machine {
				continue
			}
			t.Run(a.name, func(t *testing.T) { s.attack(t, v, a) })
		}
	})
	t.Run("network", func(t *testing.T) { testReach(t, d, h) })
	// What stops these is tare's own, not the system's; on every system they would take half an hour.
	if os.Getenv("TARE_SOAK") != "" || slices.Contains(thorough, d.Name()) {
		t.Run("bombs", func(t *testing.T) { testBombs(t, d, h) })
		t.Run("wire", func(t *testing.T) { testWire(t, d, h) })
		t.Run("death", func(t *testing.T) { testDeath(t, d, h) })
	}
	if t.Failed() {
		return
	}
	nothingLeft(t, h, before)
}

// thorough are the systems whose guests try everything in every test.
var thorough = []string{"runc"}

// attack runs one attack in the guest and looks at what became of the host.
func (s suite) attack(t *testing.T, v *victim, a attack) {
	r := s.sh(t, a.name, func(c *agent.Command) {
		c.Argv, c.Env, c.OutputLimit = a.argv(), append(v.env(), c.Env...), 1<<20
	})
	out := string(r.Stdout)
	t.Logf("%q %q", out, r.Stderr)
	damage := v.damage(t)
	if strings.Contains(out, v.secret) {
		damage = append(damage, "it read what is the host's")
	}
	if s.d.Capabilities().SameKernel {
		for line := range strings.Lines(out) {
			if did, ok := strings.CutPrefix(line, "did: "); ok {
				damage = append(damage, "it "+strings.TrimSpace(did))
			}
		}
	}
	for _, line := range damage {
		t.Error(line)
	}
}

// testPrivileges checks on the host that a VMM, once taken over, could do nothing that its guest's user may not.
func testPrivileges(t *testing.T, m *system.Machine) {
	pids, err := m.Site.Group.Processes()
	if err != nil {
		t.Fatal(err)
	}
	if len(pids) == 0 {
		t.Skip("its machines are no processes of this host")
	}
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has just ended
		}
		name, _, _ := strings.Cut(string(b), "\n")
		user := fmt.Sprintf("\nUid:\t%d\t", m.Site.User)
		for _, want := range []string{user, "\nCapPrm:\t0000000000000000\n", "\nNoNewPrivs:\t1\n"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s (pid %d) has no %q in its status", name, pid, strings.TrimSpace(want))
			}
		}
	}
}

// victim is what guests attack: files, a block device and settings of the host, and the userland.
type victim struct {
	mark   string // what guests write
	secret string // what they must not read
	dir    string // on the file system of the userland's tree
	device *volume.Volume
	sum    string // of the device

	userland map[string]string
	tree     system.Userland
}

// settings of the host that a guest with the host's kernel could change to become root on it.
var settings = []string{
	"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
	"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname",
	"/sys/kernel/uevent_helper", "/sys/module/firmware_class/parameters/path",
}

func newVictim(t *testing.T, h *system.Host) *victim {
	v := &victim{mark: "hostile" + h.RunID, secret: "secret" + strings.ToLower(rand.Text()), tree: *h.Userland}
	var err error
	if v.dir, err = os.MkdirTemp(h.StateDir, "hostile-*"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(v.dir) })
	if err := os.WriteFile(filepath.Join(v.dir, "file"), []byte(v.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if v.device, err = volume.Create(t.Context(), volume.Spec{Dir: v.dir, Bytes: 16 << 20, FS: "ext4"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.device.Close() })
	f, err := os.OpenFile(v.device.Device, os.O_RDWR|unix.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(v.secret), 0); err != nil { // the first KiB of ext4 is free
		t.Fatal(err)
	}
	v.sum, v.userland = v.deviceSum(t), v.walk(t)
	return v
}

// env tells a guest what to attack.
func (v *victim) env() []string {
	var st unix.Stat_t
	if err := unix.Stat(v.device.Device, &st); err != nil {
		panic(err)
	}
	return []string{
		"MARK=" + v.mark, "TARGET=" + v.dir, "SETTINGS=" + strings.Join(settings, " "),
		fmt.Sprint("MAJOR=", unix.Major(st.Rdev)), fmt.Sprint("MINOR=", unix.Minor(st.Rdev)),
	}
}

func (v *victim) deviceSum(t *testing.T) string {
	f, err := os.Open(v.device.Device)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := f.WriteTo(h); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// walk describes every file of the userland. The time of the last change of an inode (ctime) cannot be set.
func (v *victim) walk(t *testing.T) map[string]string {
	all := map[string]string{}
	libvirts := filepath.Join(v.tree.Tree, ".oldroot") // there while another test starts a container of libvirt's
	add := func(path string) {
		if path == libvirts {
			return
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR { // its entries tell; other tests make mount points in the tree
			st.Mtim, st.Ctim, st.Nlink, st.Size = unix.Timespec{}, unix.Timespec{}, 0, 0
		}
		all[path] = fmt.Sprint(st.Mode, st.Uid, st.Gid, st.Rdev, st.Size, st.Mtim, st.Ctim)
	}
	err := filepath.WalkDir(v.tree.Tree, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			add(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{v.tree.Disk, v.tree.Kernel, v.tree.Agent} {
		add(path)
	}
	return all
}

// damage returns what a guest has changed on the host, and restores it for the next attack.
func (v *victim) damage(t *testing.T) (all []string) {
	t.Helper()
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, file := range settings {
		b, err := os.ReadFile(file)
		if err == nil && bytes.Contains(b, []byte(v.mark)) {
			add("it wrote the host's %s", file)
			v.restore(t, file)
		}
	}
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "file" {
			add("it made the file %s on the host", filepath.Join(v.dir, e.Name()))
			os.RemoveAll(filepath.Join(v.dir, e.Name()))
		}
	}
	if b, err := os.ReadFile(filepath.Join(v.dir, "file")); err != nil || string(b) != v.secret {
		add("a file of the host contains %q: %v", b, err)
	}
	if sum := v.deviceSum(t); sum != v.sum {
		add("it wrote to a block device of the host")
		v.sum = sum
	}
	after := v.walk(t)
	for path, was := range v.userland {
		if is := after[path]; is != was {
			add("the userland's %s is not as it was: %q, before %q", path, is, was)
		}
	}
	for path := range after {
		if v.userland[path] == "" {
			add("the userland has a new %s", path)
			if strings.Contains(path, v.mark) {
				os.RemoveAll(path)
				delete(after, path)
			}
		}
	}
	v.userland = after
	return all
}

// restore gives a setting of the host a value that does no harm; only the values before would be better, and those
// may have been another test's.
func (v *victim) restore(t *testing.T, file string) {
	values := map[string]string{
		"/proc/sys/kernel/core_pattern": "core", "/proc/sys/kernel/modprobe": "/sbin/modprobe",
		"/proc/sys/kernel/domainname": "(none)", "/sys/kernel/uevent_helper": "\n",
		"/sys/module/firmware_class/parameters/path": "\n",
	}
	value, ok := values[file]
	if file == "/proc/sys/kernel/hostname" {
		b, err := os.ReadFile("/etc/hostname")
		value, ok = strings.TrimSpace(string(b)), err == nil
	}
	if ok {
		if err := os.WriteFile(file, []byte(value), 0); err != nil {
			t.Errorf("restoring %s: %v", file, err)
		}
	}
}

// answers checks that a guest still answers, or that it was the guest's fault that it does not.
func answers(t *testing.T, m *system.Machine) (alive bool) {
	t.Helper()
	for range 10 {
		r, err := m.Agent.Run(timeout(t), agent.Command{
			Argv: []string{"echo", "here"}, Env: system.AgentEnv, Timeout: time.Minute, OutputLimit: 100,
		})
		switch {
		case err != nil && fault.KindOf(err) != fault.Guest:
			t.Errorf("not the guest's fault: %v", err)
			return false
		case err != nil:
			return false
		case r.Signal != 0: // the guest's kernel lacks memory, or the rest of a bomb kills all that starts
			time.Sleep(time.Second)
			continue
		case string(r.Stdout) != "here\n":
			t.Errorf("it answers %+v", r)
		}
		return true
	}
	return false
}

// maxProcesses is far above what a workload needs, and far below what a host can bear.
const maxProcesses = 6000

// testBombs makes guests use up what they can get. They may break, but only themselves.
func testBombs(t *testing.T, d system.Driver, h *system.Host) {
	m := launch(t, d, h, "bombs", Request())
	beside := launch(t, d, h, "beside", Request())
	dead := false
	for _, b := range bombs {
		if dead {
			m = launch(t, d, h, "bombs-"+b.name, Request())
		}
		t.Run(b.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			most := make(chan int)
			go func() {
				n := 0
				for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
					pids, _ := m.Site.Group.Processes()
					n = max(n, len(pids))
				}
				most <- n
			}()
			r, err := m.Agent.Run(ctx, agent.Command{
				Argv: b.argv(), Env: system.AgentEnv, Dir: m.DataDir(), Timeout: 30 * time.Second, OutputLimit: 1 << 16,
			})
			switch {
			case err != nil && fault.KindOf(err) != fault.Guest:
				t.Errorf("not the guest's fault: %v", err)
			case err == nil:
				t.Logf("%.1000q %.1000q", r.Stdout, r.Stderr)
			}
			alive := answers(t, m)
			cancel()
			if n := <-most; n > maxProcesses {
				t.Errorf("the guest had %d processes of the host", n)
			}
			if !answers(t, beside) {
				t.Error("a guest beside it has died of it")
			}
			if !alive {
				t.Log("the guest has died of it")
				m.Close()
			}
			dead = !alive
		})
	}
}

// testWire replaces the agent by a program that floods the host, and has a guest write on its agent's connection.
func testWire(t *testing.T, d system.Driver, h *system.Host) {
	if d.Capabilities().HostMount { // elsewhere the agent is in the initramfs, with nothing that runs scripts
		for name, script := range map[string]string{
			"flood": "while (syswrite($s, \"\\0\\0\\0\\1\\0\\0\\0\\1\\2\\0\" . \"x\" x 65526)) {}",
			"large": "syswrite($s, \"\\xff\\xff\\xff\\xff\\0\\0\\0\\1\\2\\0\"); sleep 2",
			"hello": "sysread($s, my $b, 1000);" +
				"syswrite($s, \"\\0\\0\\0\\4\\0\\0\\0\\1\\2\\0\\xff\\xff\\xff\\xff\"); sleep 2",
		} {
			t.Run(name, func(t *testing.T) { testLyingAgent(t, d, h, script) })
		}
	}
	m := launch(t, d, h, "wire", Request())
	// Root in the guest can write to the device that its agent uses.
	r, err := m.Agent.Run(timeout(t), agent.Command{
		Argv: []string{"sh", "-c", `for f in /dev/ttyS0 /dev/hvc[01] /dev/vport* /proc/1/fd/* /run/agent.sock; do
	timeout 5 sh -c 'yes flood | head -c 1000000 >"$0"' $f & done 2>/dev/null; wait; echo flooded`},
		Env: system.AgentEnv, Timeout: 20 * time.Second, OutputLimit: 1 << 20,
	})
	if err != nil && fault.KindOf(err) != fault.Guest {
		t.Errorf("not the guest's fault: %v", err)
	}
	if r != nil {
		t.Logf("%d bytes of output", r.StdoutBytes)
	}
	t.Log(err)
	answers(t, m)
}

// testLyingAgent starts a guest whose agent is a script. $s is its connection.
func testLyingAgent(t *testing.T, d system.Driver, h *system.Host, script string) {
	program := "#!/usr/bin/perl\nuse IO::Socket::UNIX; my $s;\n" +
		"if ($ARGV[0] =~ /^unix:(.*)/) { $s = IO::Socket::UNIX->new(Peer => $1) } else { open($s, '+<&=', 3) }\n" +
		script + "\n"
	file := filepath.Join(h.Dir, "liar")
	if err := os.WriteFile(file, []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	u, lying := *h.Userland, *h
	u.Agent = file
	lying.Userland = &u
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	m, err := system.Launch(ctx, d, &lying, "liar", Request())
	if err == nil {
		m.Close()
		t.Fatal("a liar was taken for an agent")
	}
	if ctx.Err() == nil && fault.KindOf(err) != fault.Guest {
		t.Errorf("not the guest's fault: %v", err)
	}
	t.Log(err)
}

// testDeath makes guests end themselves at different times. Each must be noticed, and be the guest's fault.
func testDeath(t *testing.T, d system.Driver, h *system.Host) {
	const die = `perl -e '
	syscall(169, 0xfee1dead, 672274793, 0x01234567, 0); # reboot: in a container, the end of its first process
	kill "KILL", grep { $_ != $$ } map { m{/proc/(\d+)} } glob "/proc/[0-9]*"; kill "KILL", -1'`
	for name, script := range map[string]string{
		"command": "echo begin; " + die + "; sleep 100",
		"output":  "(sleep 1; " + die + ") & yes",
		"idle":    "(setsid sh -c 'sleep 1; " + strings.ReplaceAll(die, "'", `'\''`) + "' >/dev/null 2>&1 &); exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			m := launch(t, d, h, "dies-"+name, Request())
			_, err := m.Agent.Run(timeout(t), agent.Command{
				Argv: []string{"sh", "-c", script}, Env: system.AgentEnv, Timeout: 5 * time.Second, OutputLimit: 1 << 20,
			})
			if err != nil && fault.KindOf(err) != fault.Guest {
				t.Errorf("not the guest's fault: %v", err)
			}
			end := time.Now().Add(5 * time.Second)
			for name == "idle" && answers(t, m) {
				if time.Now().After(end) {
					t.Log("it could not end itself")
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err := m.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Run("next", func(t *testing.T) {
		s := suite{d: d, m: launch(t, d, h, "next", Request())}
		s.answer(t)
	})
}

// networks returns the networks that a driver's guests can have.
func networks(d system.Driver) []string {
	all := slices.Clone(d.Capabilities().Networks)
	slices.Sort(all)
	return all
}
