// Package runc runs guests as OCI containers, one bundle each.
package runc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is the system "runc".
type Driver struct{}

func (Driver) Name() string { return "runc" }

func (Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		SameKernel:    true,
		HostMount:     true,
		Freeze:        "cgroup freezer",
		CPUCap:        "every process of the container and the runtime",
		Memory:        "control group: processes and page cache",
		MemoryInGroup: true,
		DiskBackings:  []string{"loop"},
		Networks:      []string{"none"},
		NeedsRoot:     true,
		HostBoot:      "linux",
	}
}

func (Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	out, err := exec.CommandContext(ctx, "runc", "--version").Output()
	if err != nil {
		return system.Unusable(fmt.Sprintf("runc is not installed: %v", err), "apt-get install runc")
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return system.Status{Usable: true, Proof: first, Versions: map[string]string{"runc": strings.TrimPrefix(first, "runc version ")}}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	bundle := filepath.Join(s.Dir, "bundle")
	if err := os.Mkdir(bundle, 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	b, err := json.MarshalIndent(Spec(s), "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o644); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	// In the foreground, so that the runtime is a child of ours; its state is
	// on the site and goes with it.
	p, err := s.StartProcess("", []string{
		"runc", "--root", filepath.Join(s.Dir, "state"), "run", "--preserve-fds", "1", "--bundle", bundle, s.ID,
	})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}

// Spec is the OCI configuration of a guest on a site, for this and other OCI
// runtimes. Limits are not in it: the group above the container has them.
func Spec(s *system.Site) *specs.Spec {
	tmpfs := func(at, mode string) specs.Mount {
		return specs.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=" + mode}}
	}
	bind := func(from, at string, options ...string) specs.Mount {
		return specs.Mount{Destination: at, Type: "bind", Source: from, Options: append([]string{"bind"}, options...)}
	}
	all := capabilities()
	return &specs.Spec{
		Version: "1.0.2",
		Process: &specs.Process{
			Args: []string{"/tare-agent", "fd:3"},
			Env:  system.AgentEnv,
			Cwd:  "/",
			Capabilities: &specs.LinuxCapabilities{
				Bounding: all, Effective: all, Permitted: all,
			},
		},
		Root:     &specs.Root{Path: s.Userland.Tree, Readonly: true},
		Hostname: "tare",
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
			tmpfs("/dev/shm", "1777"),
			tmpfs("/tmp", "1777"),
			tmpfs("/run", "755"),
			bind(s.DataDir, "/data", "rw"),
			bind(s.Userland.Agent, "/tare-agent", "ro"),
		},
		Linux: &specs.Linux{
			CgroupsPath: "/" + s.Group.Name() + "/container",
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.NetworkNamespace},
			},
		},
	}
}

// capabilities are those that container engines give by default, as far as
// tare has them to give.
func capabilities() []string {
	var names []string
	for _, c := range []struct {
		name   string
		number uintptr
	}{
		{"CAP_CHOWN", unix.CAP_CHOWN}, {"CAP_DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE}, {"CAP_FOWNER", unix.CAP_FOWNER},
		{"CAP_FSETID", unix.CAP_FSETID}, {"CAP_KILL", unix.CAP_KILL}, {"CAP_SETGID", unix.CAP_SETGID},
		{"CAP_SETUID", unix.CAP_SETUID}, {"CAP_SETPCAP", unix.CAP_SETPCAP}, {"CAP_NET_RAW", unix.CAP_NET_RAW},
		{"CAP_NET_BIND_SERVICE", unix.CAP_NET_BIND_SERVICE}, {"CAP_SYS_CHROOT", unix.CAP_SYS_CHROOT},
		{"CAP_MKNOD", unix.CAP_MKNOD}, {"CAP_AUDIT_WRITE", unix.CAP_AUDIT_WRITE}, {"CAP_SETFCAP", unix.CAP_SETFCAP},
	} {
		if have, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c.number, 0, 0, 0); err == nil && have == 1 {
			names = append(names, c.name)
		}
	}
	return names
}
