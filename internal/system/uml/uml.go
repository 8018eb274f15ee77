// Package uml runs guests as User-Mode Linux: a kernel that is a process of the
// host, and runs the guest's programs as children that it traces.
package uml

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/volume"
)

const (
	program = "linux.uml"
	// shim is a library that makes it run on CPUs with more state than it
	// knows; see shim/ptrace.c. It is used where it is installed.
	shim = "uml-ptrace.so"
)

// Driver is the system "uml".
type Driver struct{}

func (Driver) Name() string { return "uml" }

var options = []system.Option{{
	Name: "ubd", Values: []string{"sync", "cached"}, Default: "sync",
	About: "sync: every 4 KiB waits for the device, which is slow; cached: they wait in the host's page cache, and the guest's flushes are lost",
}}

func (Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   system.Live,
		Freeze:       "cgroup freezer",
		CPUCap:       "every process: the kernel, its I/O helper, the guest's programs",
		Memory:       "the machine's RAM, a file in memory; the kernel's own processes come on top",
		DiskBackings: []string{volume.Loop, volume.Raw, volume.Block},
		Disk:         "ubd, through the host's page cache",
		Networks:     []string{network.None, network.Bridged, network.NAT},
		Port:         system.TapPort,
		NeedsRoot:    true,
		MaxVCPUs:     1,
		HostBoot:     "linux",
		Options:      options,
	}
}

// probeTimeout is how long a guest may take to reach its agent, which takes a
// second or two where it works.
const probeTimeout = 20 * time.Second

// Check boots a guest: whether the kernel can trace its programs depends on
// the CPU and on what this host lets a process do.
func (d Driver) Check(ctx context.Context, h *system.Host) system.Status {
	path, err := system.FindTool(program)
	if err != nil {
		return system.Unusable(fmt.Sprintf("User-Mode Linux is not installed: %v", err), "apt-get install user-mode-linux")
	}
	version, err := release(ctx, path)
	if err != nil {
		return system.Unusable(fmt.Sprintf("%s --version: %v", path, err), "")
	}
	if h.Userland == nil {
		return system.Unusable(path+" is there, but whether it boots is not known before the userland image is built", "tare image")
	}
	took, err := system.Probe(ctx, d, h, probeTimeout)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return system.Unusable(path+" is there, but no guest boots with it: "+why, fault.RemedyOf(err))
	}
	return system.Status{
		Usable: true, Proof: fmt.Sprintf("%s %s booted a guest in %v", path, version, took.Round(10*time.Millisecond)),
		Versions: map[string]string{program: version},
	}
}

func (Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	boot, err := bootDir(s)
	if err != nil {
		return nil, err
	}
	argv, err := commandLine(s, boot)
	if err != nil {
		return nil, err
	}
	// Its memory is a file of the guest's; that must be where mmap can execute.
	env := []string{"TMPDIR=" + s.Dir}
	if lib, err := system.FindTool(shim); err == nil {
		env = append(env, "LD_PRELOAD="+lib)
	}
	// The guest's programs are held back from the host's kernel by being
	// traced. If their tracer were killed they would run on, as the host's
	// processes: they must end with it, whoever kills it.
	c := system.Command{PIDs: true, Argv: argv, Env: env}
	if s.Port != nil {
		c.Net = s.Port.TapNamespace
	}
	p, err := s.Start(c)
	if err != nil {
		return nil, err
	}
	g := system.NewGroupGuest(s, p, nil)
	if err := ready(ctx, p.Conn()); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		g.Close() // all of the log is there when it has ended
		return nil, failure(err, p.Log())
	}
	return g, nil
}

// failure is why a guest did not come up, as its log tells.
func failure(err error, log string) error {
	if strings.Contains(log, "set fp regs failed") {
		return fault.WithRemedy(fault.Guestf("this CPU has more state than this User-Mode Linux knows: AMX"), "scripts/install-uml-shim")
	}
	var said []string
	for line := range strings.Lines(log) {
		// What is indented are the frames of a panic.
		if line = strings.TrimRight(line, "\r\n"); line != "" && line == strings.TrimLeft(line, " \t") {
			said = append(said, line)
		}
	}
	return fault.Guestf("it does not come up (%w); it said last: %s", err, strings.Join(said[max(0, len(said)-6):], "; "))
}

// release is the version of the kernel.
func release(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// ready waits for the zero byte by which the agent says that its end of the
// serial line is a plain stream.
func ready(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	b := []byte{0}
	_, err := conn.Read(b)
	if !stop() {
		return ctx.Err()
	}
	if err == nil && b[0] != 0 {
		err = fmt.Errorf("the serial line says %q", b)
	}
	return err
}

// bootDir makes the guest's first root directory: the agent as /init, and
// where to mount.
func bootDir(s *system.Site) (string, error) {
	boot := filepath.Join(s.Dir, "boot")
	for _, dir := range []string{"dev", "proc", "sys", "newroot"} {
		if err := os.MkdirAll(filepath.Join(boot, dir), 0o755); err != nil {
			return "", fault.Hostf("%w", err)
		}
	}
	if err := os.Link(s.Userland.Agent, filepath.Join(boot, "init")); err != nil {
		return "", fault.Hostf("%w", err)
	}
	return boot, nil
}

// commandLine is the whole machine and the kernel's command line, which are
// one here.
func commandLine(s *system.Site, boot string) ([]string, error) {
	path, err := system.FindTool(program)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	argv := []string{
		// Process 1 of its namespace must be another one: from the kernel's
		// panic none but SIGABRT leads out, which process 1 does not feel.
		"unshare", "--kill-child",
		// Where the host puts its heap at random, a random part of its memory
		// goes to describing the gap before it.
		"setarch", "--addr-no-randomize",
		path, "mem=" + strconv.FormatInt(s.Flavor.MemoryBytes>>20, 10) + "M",
		"umid=uml", "uml_dir=" + s.Dir, // else it leaves ~/.uml
		"con=null", "con0=null,fd:1", "ssl=null", fmt.Sprintf("ssl0=fd:%d", system.AgentFD),
		// No other directory of the host can be mounted.
		"rootfstype=hostfs", "hostfs=" + boot, "ro", "init=/init",
		"quiet", "noreboot", "panic=-1", "tare.tty=ttyS0",
	}
	if s.Volume != nil {
		// d: a disk is a disk, whatever it begins with. s: every write is for
		// good, as Linux 6.1 drops the guest's flushes.
		data := "ubd1sd="
		if system.Setting(options, s.Flavor, "ubd") == "cached" {
			data = "ubd1d="
		}
		// Shared ("c"): its lock on the whole file would keep QEMU from the same disk.
		argv = append(argv, "ubd0rdc="+s.Userland.Disk, data+s.Volume.Device, "tare.root=ubda", "tare.data=ubdb:"+s.Volume.FS)
	}
	if s.Port != nil {
		argv = append(argv, "vec0:transport=tap,gro=1,ifname="+s.Port.Tap, system.NetworkParameter("vec0", s))
	}
	return argv, nil
}
