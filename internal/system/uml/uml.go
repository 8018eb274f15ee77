// Package uml runs guests as User-Mode Linux: a kernel that runs as a process of the host and
// traces the guest's programs, which are its children.
package uml

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/tools"
)

const (
	program = "linux.uml"
	// shim is a library that makes UML run on CPUs with more register state than it supports;
	// see shim/ptrace.c. tare uses it if it is installed.
	shim = "uml-ptrace.so"
)

// Driver is the system "uml".
type Driver struct{}

func (Driver) Name() string { return "uml" }

var options = []system.Option{{
	Name: "ubd", Values: []string{"sync", "cached"}, Default: "sync",
	About: "sync: every 4 KiB waits for the device, which is slow; cached: they wait in the host's page cache, and the " +
		"guest's flushes are lost",
}}

func (Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   system.Live,
		Freeze:       "cgroup freezer",
		CPUCap:       "every process: the kernel, its I/O helper, the guest's programs",
		IOCap:        system.GroupIOCap,
		NetCap:       system.BucketCap,
		Memory:       "the machine's RAM, a file in memory; the kernel's own processes come on top",
		Swap:         system.SwapVolume,
		RawDevice:    true,
		DiskBackings: []string{model.BackingLoop, model.BackingRaw, model.BackingBlock},
		Disk:         "ubd, through the host's page cache",
		Networks:     []string{model.NetworkNone, model.NetworkBridged, model.NetworkNAT},
		Port:         system.TapPort,
		NeedsRoot:    true,
		MaxVCPUs:     1,
		HostBoot:     "linux",
		Options:      options,
	}
}

// probeTimeout is how long a guest may take until its agent answers. It takes a second or two
// where UML works.
const probeTimeout = 20 * time.Second

// Check boots a guest: whether the kernel can trace its programs depends on the CPU and on what
// this host allows a process to do.
func (d Driver) Check(ctx context.Context, h *system.Host) system.Status {
	p, version, err := h.Program(ctx, program)
	if err != nil {
		return system.NoProgram(err)
	}
	path := p.Path
	if h.Userland == nil {
		return system.Unusable(path+" is there, but tare cannot tell whether it boots until the userland image is built",
			"tare image")
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
	kernel, err := tools.Find(program, s.Flavor.Programs)
	if err != nil {
		return nil, err
	}
	argv := commandLine(s, kernel.Path)
	// The guest's memory is a file, which must be on a file system without noexec.
	env, read, devices := []string{"TMPDIR=" + tmp}, []string{s.Userland.BareInitramfs}, []string{}
	if kernel.Tree == nil { // it may be in a directory of the host that is not among those of its programs
		read = append(read, kernel.Path)
	}
	if lib, err := tools.Find(shim, ""); err == nil {
		env, read = append(env, "LD_PRELOAD="+lib.Path), append(read, lib.Path)
	}
	if s.Port != nil {
		devices = append(devices, "/dev/net/tun")
	}
	// Only tracing keeps the guest's programs away from the host's kernel. If their tracer were
	// killed, they would continue as processes of the host. Therefore they must end with the
	// tracer, however it ends.
	c := system.Command{Jail: s.Jail(read, devices), Argv: argv, For: program, Env: env}
	if s.Port != nil {
		c.Net = s.Port.VMMNamespace
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
		g.Close() // completes the log
		return nil, failure(err, p.Log())
	}
	return g, nil
}

// failure returns the reason why a guest did not boot, as far as its log gives it.
func failure(err error, log string) error {
	if strings.Contains(log, "set fp regs failed") {
		return fault.WithRemedy(fault.Guestf("this User-Mode Linux does not support this CPU's AMX state"),
			"scripts/install-uml-shim")
	}
	var said []string
	for line := range strings.Lines(log) {
		// Indented lines are the frames of a panic's stack trace.
		if line = strings.TrimRight(line, "\r\n"); line != "" && line == strings.TrimLeft(line, " \t") {
			said = append(said, line)
		}
	}
	return fault.Guestf("it does not boot (%w); its log ends: %s", err, strings.Join(said[max(0, len(said)-6):], "; "))
}

// ready waits for the zero byte which the agent sends when its end of the serial line is in raw
// mode.
func ready(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	b := []byte{0}
	_, err := conn.Read(b)
	if !stop() {
		return ctx.Err()
	}
	if err == nil && b[0] != 0 {
		err = fmt.Errorf("the serial line sent %q", b)
	}
	return err
}

// tmp is a directory in the machine's jail, in memory.
const tmp = "/tmp"

// commandLine returns the command that starts the machine with the program kernel. Its arguments are also the kernel's
// command line.
func commandLine(s *system.Site, kernel string) []string {
	argv := []string{
		// UML must not be process 1 of its PID namespace: when its kernel panics, it ends itself
		// by SIGABRT, which process 1 ignores.
		"unshare", "--kill-child",
		// With address space randomization, a random share of the machine's memory would be
		// used to describe the gap before the heap.
		"setarch", "--addr-no-randomize",
		kernel, "mem=" + strconv.FormatInt(s.Flavor.MemoryBytes>>20, 10) + "M",
		"umid=uml", "uml_dir=" + tmp, // otherwise it leaves ~/.uml behind
		"con=null", "con0=null,fd:1", "ssl=null", fmt.Sprintf("ssl0=fd:%d", system.AgentFD),
		// The guest could mount directories of the host as "hostfs", also those above the one given here. It is
		// in a jail, where no directory has anything of the host's but programs.
		"hostfs=/nonexistent", "initrd=" + s.Userland.BareInitramfs,
		"quiet", "noreboot", "panic=-1", "tare.tty=ttyS0",
	}
	if s.Volume != nil {
		// d: treat the file as a disk image, whatever its first bytes are. s: write
		// synchronously, since Linux 6.1 drops the guest's flushes.
		data := "ubd1sd="
		if s.Setting(options, "ubd") == "cached" {
			data = "ubd1d="
		}
		// c: shared, since a lock on the whole file would keep QEMU from using the same disk.
		argv = append(argv, "ubd0rdc="+s.Userland.Disk, data+s.Volume.Device, "tare.root=ubda", "tare.data=ubdb:"+s.Volume.FS)
	}
	if s.Swap != nil {
		argv = append(argv, "ubd2d="+s.Swap.Device, "tare.swap=ubdc")
	}
	if s.Port != nil {
		argv = append(argv, "vec0:transport=tap,gro=1,ifname="+s.Port.Tap, system.NetworkParameter("vec0", s))
	}
	return argv
}
