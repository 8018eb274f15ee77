// Package gvisor runs guests in gVisor's sandbox: a kernel of its own, written
// in Go, as a process of the host.
package gvisor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
	"github.com/tare-bench/tare/internal/volume"
)

const (
	program = "runsc"
	remedy  = "scripts/install-runsc"
	// id names the sandbox among those with the same state, of which it is the
	// only one. It is short because it is in the path of a socket.
	id = "guest"
)

// Driver is the system "gvisor" or "gvisor-ptrace".
type Driver struct {
	name, platform string
}

// Systrap catches the guest's system calls by seccomp, as gVisor does by default.
func Systrap() Driver { return Driver{"gvisor", "systrap"} }

// Ptrace catches them by ptrace, as gVisor did before it had systrap.
func Ptrace() Driver { return Driver{"gvisor-ptrace", "ptrace"} }

func (d Driver) Name() string { return d.name }

func (d Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:    system.Live,
		HostMount:     true,
		Freeze:        "runsc pause",
		CPUCap:        "every process of the sandbox: gVisor's kernel, the gofer, those that run the guest's code",
		Memory:        "control group: the sandbox's processes, the guest's memory and the host's page cache",
		MemoryInGroup: true,
		OOMEndsGuest:  true,
		DiskBackings:  []string{volume.Loop, volume.Block},
		Disk:          "mounted by the host; through its page cache even with O_DIRECT",
		Networks:      []string{network.None, network.Bridged, network.NAT},
		NeedsRoot:     true,
		HostBoot:      "linux",
	}
}

func (d Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	path, err := system.FindTool(program)
	if err != nil {
		return system.Unusable(fmt.Sprintf("gVisor is not installed: %v", err), remedy)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return system.Unusable(fmt.Sprintf("%s --version: %v", path, err), remedy)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	// It has the flag since 2023. Debian 12's is older, and lacks system calls
	// that Debian's own programs make.
	usage, _ := exec.CommandContext(ctx, path, "help", "run").Output()
	if !strings.Contains(string(usage), "-pass-fd") {
		return system.Unusable(fmt.Sprintf("%s (%s) is too old", path, first), remedy)
	}
	return system.Status{Usable: true, Proof: path + ": " + first, Versions: map[string]string{program: strings.TrimPrefix(first, "runsc version ")}}
}

func (d Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	path, err := system.FindTool(program)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	bundle, err := oci.Bundle(s, oci.Spec(s))
	if err != nil {
		return nil, err
	}
	net := "none"
	if s.Port != nil {
		net = "sandbox" // gVisor's own stack takes over what is in the namespace
	}
	runsc := []string{path, "--root", filepath.Join(s.Dir, "state")}
	p, err := s.StartProcess("", append(slices.Clip(runsc),
		"--platform", d.platform, "--network="+net,
		// All of it stays in the group that it is started in, and sees as many
		// CPUs as that may use.
		"--ignore-cgroups", "--cpu-num-from-quota=false",
		// The userland is read-only as everywhere, not below a file in memory.
		"--overlay2=none",
		"run", "--pass-fd", "3:3", "--bundle", bundle, id))
	if err != nil {
		return nil, err
	}
	return &guest{GroupGuest: system.NewGroupGuest(s, p, nil), site: s, runsc: runsc}, nil
}

// guest is a group's guest that gVisor's kernel stops. The group's freezer must
// not: it breaks off the calls by which systrap's processes wait for the
// kernel, which takes a process for dead that it cannot answer.
type guest struct {
	*system.GroupGuest
	site   *system.Site
	runsc  []string // with the options before the subcommand
	kernel int      // gVisor's kernel, 0 until the guest is frozen
}

// Freeze stops gVisor's kernel, too, when it has paused the guest: with nothing
// to do, systrap's looks at its own latencies every millisecond or two, which is
// 3 % of a CPU.
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

func (g *guest) signal(sig unix.Signal) error {
	if err := unix.Kill(g.kernel, sig); err != nil {
		return fault.Guestf("gVisor's kernel (pid %d), %v: %w", g.kernel, sig, err)
	}
	return nil
}

// findKernel finds gVisor's kernel by the name that runsc starts it under.
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

// controlTimeout bounds a pause, which waits until every thread of the guest
// has stopped.
const controlTimeout = 30 * time.Second

func (g *guest) control(ctx context.Context, command string) error {
	within, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	argv := append(slices.Clip(g.runsc), command, id)
	if out, err := exec.CommandContext(within, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Guestf("runsc %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}
