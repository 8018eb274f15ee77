// Package bubblewrap runs guests in sandboxes of bubblewrap's bwrap, which desktop programs and tools of agents use.
package bubblewrap

import (
	"context"
	"strings"

	"github.com/tare-bench/tare/internal/system"
)

const program = "bwrap"

// Driver is the system "bubblewrap".
type Driver struct{}

func (Driver) Name() string { return "bubblewrap" }

func (Driver) Capabilities() system.Capabilities {
	caps := system.GroupCapabilities("every process of the sandbox and bwrap",
		"no_new_privs and capabilities; bubblewrap has no filter of system calls by itself")
	caps.Programs = []string{program}
	caps.Open = false // bwrap always sets no_new_privs
	return caps
}

func (Driver) Check(ctx context.Context, h *system.Host) system.Status {
	_, version, err := h.Program(ctx, program)
	if err != nil {
		return system.NoProgram(err)
	}
	return system.Status{Usable: true, Proof: program + " of " + version,
		Versions: map[string]string{"bubblewrap": strings.TrimPrefix(version, "bubblewrap ")}}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	harmless, err := system.HarmlessCapabilities()
	if err != nil {
		return nil, err
	}
	harmful, err := system.HarmfulCapabilities()
	if err != nil {
		return nil, err
	}
	argv := []string{program,
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "tare", "--new-session",
		"--ro-bind", s.Userland.Tree, "/", "--dev", "/dev", "--ro-bind", "/sys", "/sys",
		"--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run", "--chmod", "1777", "/tmp",
		"--bind", s.DataDir, "/data", "--ro-bind", s.Userland.Agent, "/tare-agent", "--chdir", "/",
		"--cap-drop", "ALL",
	}
	// bwrap leaves root what it cannot open for writing as a directory, such as /proc/sys, whose files root can write.
	for _, path := range system.ReadOnlyProc {
		argv = append(argv, "--ro-bind-try", path, path) // not every kernel has all
	}
	for _, name := range system.CapabilityNames(harmless) {
		argv = append(argv, "--cap-add", name)
	}
	// bwrap as root leaves the bounding set as it is.
	c := system.Command{Lend: harmful}
	if s.Port == nil {
		argv = append(argv, "--unshare-net")
	} else {
		c.Net = s.Port.Namespace
	}
	c.Argv = append(argv, "--", "/tare-agent", "fd:3")
	p, err := s.Start(c)
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
