// Package gvisor runs guests in gVisor's sandbox: a kernel written in Go that runs as a process of
// the host.
package gvisor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
	"github.com/tare-bench/tare/internal/tools"
)

const (
	program = "runsc"
	remedy  = "scripts/install-runsc"
	// id names the sandbox within its state directory, which holds no other. It is short because
	// it is part of a socket's path.
	id = "guest"
)

// Driver is the system "gvisor", "gvisor-ptrace" or "gvisor-kvm".
type Driver struct {
	name, platform, verifiedOn string
}

// Systrap intercepts the guest's system calls with seccomp. It is gVisor's default.
func Systrap() Driver { return Driver{"gvisor", "systrap", system.Live} }

// Ptrace intercepts them with ptrace, gVisor's default before systrap.
func Ptrace() Driver { return Driver{"gvisor-ptrace", "ptrace", system.Live} }

// KVM runs the guest's code on virtual CPUs, whose exits are its system calls.
func KVM() Driver { return Driver{"gvisor-kvm", platformKVM, system.NeedsProduct} }

const platformKVM = "kvm"

func (d Driver) Name() string { return d.name }

func (d Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:    d.verifiedOn,
		HostMount:     true,
		Freeze:        "runsc pause",
		Save:          "runsc checkpoint",
		CPUCap:        "every process of the sandbox: gVisor's kernel, the gofer, those that run the guest's code",
		IOCap:         system.GroupIOCap,
		NetCap:        system.BucketCap,
		Memory:        "control group: the sandbox's processes, the guest's memory and the host's page cache",
		MemoryInGroup: true,
		Swap:          system.GroupSwap,
		OOMEndsGuest:  true,
		DiskBackings:  []string{model.BackingLoop, model.BackingBlock},
		Disk:          "mounted by the host; through its page cache even with O_DIRECT",
		Networks:      []string{model.NetworkNone, model.NetworkBridged, model.NetworkNAT},
		NeedsRoot:     true,
		KVM:           d.platform == platformKVM,
		HostBoot:      "linux",
		Confinement:   "gVisor's own kernel in a process that it confines by seccomp and capabilities",
	}
}

func (d Driver) Check(ctx context.Context, h *system.Host) system.Status {
	p, version, err := h.Program(ctx, program)
	if err != nil {
		return system.Unusable(fault.OneLine(err), remedy)
	}
	// runsc has the flag since 2023. Debian 12's runsc is older and lacks system calls that
	// Debian's own programs make.
	usage, _ := p.Command(ctx, "help", "run").Output()
	if !strings.Contains(string(usage), "-pass-fd") {
		return system.Unusable(fmt.Sprintf("%s (%s) is too old", p.Path, version), remedy)
	}
	st := system.Status{Usable: true, Proof: p.Path + ": " + version,
		Versions: map[string]string{program: strings.TrimPrefix(version, "runsc version ")}}
	if d.platform != platformKVM {
		return st
	}
	return d.proveKVM(ctx, h, st)
}

// probeTimeout is how long a sandbox on virtual CPUs may take until its agent answers. Where they work, it takes less
// than a second.
const probeTimeout = 5 * time.Second

// proveKVM starts a guest: where /dev/kvm is a software one, gVisor's kernel never comes out of its first virtual CPU.
func (d Driver) proveKVM(ctx context.Context, h *system.Host, st system.Status) system.Status {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return system.Unusable(fmt.Sprintf("no KVM here: %v", err),
			"switch on VT-x or AMD-V in the firmware, or nested virtualization in the outer hypervisor")
	}
	f.Close()
	if h.Userland == nil {
		return system.Unusable("/dev/kvm is there, but tare cannot tell whether gVisor runs on it until the userland image "+
			"is built", "tare image")
	}
	took, err := system.Probe(ctx, d, h, probeTimeout)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return system.Unusable("/dev/kvm is there, but gVisor does not run on it: "+why,
			"run tare on the host itself, or on one whose hypervisor offers nested VT-x or AMD-V")
	}
	st.Proof += fmt.Sprintf("; a guest started on /dev/kvm in %v", took.Round(10*time.Millisecond))
	return st
}

func (d Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	spec, err := oci.Spec(s)
	if err != nil {
		return nil, err
	}
	// gVisor's kernel does what a filter of system calls is for, and confines itself on the host.
	spec.Linux.Seccomp = nil
	bundle, err := oci.Bundle(s, spec)
	if err != nil {
		return nil, err
	}
	return d.begin(s, "run", "--bundle", bundle, id)
}

// stateDir is where runsc notes what it runs.
func stateDir(s *system.Site) string { return filepath.Join(s.Dir, "state") }

// begin starts runsc with this command, in the foreground.
func (d Driver) begin(s *system.Site, command ...string) (system.Guest, error) {
	p, err := tools.Find(program, s.Flavor.Programs)
	if err != nil {
		return nil, err
	}
	net := "none"
	if s.Port != nil {
		net = "sandbox" // gVisor's network stack takes over the interfaces in the namespace
	}
	runsc := []string{program, "--root", stateDir(s)}
	options := []string{
		"--platform", d.platform, "--network=" + net,
		// The whole sandbox stays in the group that it is started in, and sees as many CPUs as
		// the group may use.
		"--ignore-cgroups", "--cpu-num-from-quota=false",
		// The userland is read-only as in every arm, without a writable overlay in memory.
		"--overlay2=none",
	}
	started, err := s.Start(system.Command{Argv: slices.Concat(runsc, options, command), Stdio: true})
	if err != nil {
		return nil, err
	}
	return &guest{GroupGuest: system.NewGroupGuest(s, started, nil), site: s, program: p, options: runsc[1:]}, nil
}

// guest is a GroupGuest that gVisor's kernel freezes. The group's freezer must not be used: it
// interrupts the system calls in which systrap's processes wait for the kernel, and the kernel
// then takes a process that does not answer for dead.
type guest struct {
	*system.GroupGuest
	site *system.Site
	// program is runsc, with the options before the subcommand.
	program tools.Program
	options []string
	kernel  int // process ID of gVisor's kernel; 0 until the guest is first frozen
}

// Freeze pauses the guest and then also stops gVisor's kernel: even when idle, systrap's kernel
// checks its own latencies every millisecond or two, which takes 3 % of a CPU.
func (g *guest) Freeze(ctx context.Context) error {
	if err := g.control(ctx, "pause"); err != nil {
		return err
	}
	if g.kernel == 0 {
		var err error
		if g.kernel, err = g.findKernel(); err != nil {
			return err
		}
	}
	return g.signal(unix.SIGSTOP)
}

func (g *guest) Thaw(ctx context.Context) error {
	if err := g.signal(unix.SIGCONT); err != nil {
		return err
	}
	return g.control(ctx, "resume")
}

// Confined is gVisor's kernel: what its guests' programs could do if they left it.
func (g *guest) Confined() (int, error) { return g.findKernel() }

func (g *guest) signal(sig unix.Signal) error {
	if err := unix.Kill(g.kernel, sig); err != nil {
		return fault.Guestf("gVisor's kernel (pid %d), %v: %w", g.kernel, sig, err)
	}
	return nil
}

// findKernel finds gVisor's kernel by the process name that runsc gives it.
func (g *guest) findKernel() (pid int, err error) {
	pids, err := g.site.Group.Processes()
	if err != nil {
		return 0, fault.Hostf("processes of the guest: %w", err)
	}
	for _, pid := range pids {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.HasPrefix(b, []byte("runsc-sandbox\x00")) {
			return pid, nil
		}
	}
	return 0, fault.Guestf("gVisor's kernel is not among the processes of the guest")
}

// controlTimeout bounds a pause or resume. A pause waits until every thread of the guest has
// stopped.
const controlTimeout = 30 * time.Second

// control runs a command of runsc on the guest.
func (g *guest) control(ctx context.Context, command ...string) error {
	within, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	args := slices.Concat(g.options, command, []string{id})
	if out, err := g.program.Command(within, args...).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Guestf("runsc %s: %w: %s", command[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
