// Package nspawn runs guests as systemd-nspawn containers. The host's init need not be systemd.
package nspawn

import (
	"context"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
)

const program = "systemd-nspawn"

// Driver is the system "nspawn".
type Driver struct{}

func (Driver) Name() string { return "nspawn" }

func (Driver) Capabilities() system.Capabilities {
	caps := system.GroupCapabilities("every process of the container and systemd-nspawn",
		"systemd-nspawn's seccomp filter and capabilities")
	caps.Programs = []string{program}
	return caps
}

func (Driver) Check(ctx context.Context, h *system.Host) system.Status {
	_, version, err := h.Program(ctx, program)
	if err != nil {
		return system.NoProgram(err)
	}
	// Without a version 2 hierarchy where systemd looks for it, nspawn would leave the guest's
	// group.
	if !strings.HasPrefix(h.Cgroups.V2, "/sys/fs/cgroup") {
		return system.Unusable("systemd-nspawn needs control groups of version 2 below /sys/fs/cgroup",
			"mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified")
	}
	return system.Status{Usable: true, Proof: program + " of " + version,
		Versions: map[string]string{"systemd": strings.TrimPrefix(version, "systemd ")}}
}

// hidden are directories of the host that nspawn does not see. In /run it would leave directories.
//
// nspawn keeps the host's mounts in the container's mount namespace, below those of the container.
// The kernel lets root in a user namespace, which every guest can make, mount its own writable /proc
// and /sys if an instance is there of which nothing is hidden.
var hidden = []string{"/run", sandbox.HostProc(), "/proc/bus", "/sys/bus"}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	harmful, err := system.HarmfulCapabilities()
	if err != nil {
		return nil, err
	}
	// nspawn must not lock the userland, which other guests use at the same time, nor choose a control
	// group layout for the userland's systemd, since the userland has none.
	env := []string{"SYSTEMD_NSPAWN_LOCK=0", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1"}
	net := "--private-network"
	if s.Port != nil {
		net = "--network-namespace-path=" + s.Port.Namespace
	}
	argv := []string{
		// nspawn passes descriptors to the container only if LISTEN_PID is its own process ID.
		"/bin/sh", "-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"`, "sh",
		program, "--quiet", "--settings=no",
		// Do not contact systemd. nspawn moves itself and the container to groups below the one
		// that it is started in.
		"--register=no", "--keep-unit",
		"--machine=" + s.ID, "--hostname=tare", "--console=pipe", "--kill-signal=SIGKILL",
		"--directory=" + s.Userland.Tree, "--read-only",
		"--resolv-conf=off", "--timezone=off", "--link-journal=no",
		net,
		"--drop-capability=" + strings.Join(system.CapabilityNames(harmful), ","),
		"--bind=" + s.DataDir + ":/data", "--bind-ro=" + s.Userland.Agent + ":/tare-agent",
	}
	if s.Flavor.Hardening == model.HardeningNone {
		harmless, err := system.HarmlessCapabilities()
		if err != nil {
			return nil, err
		}
		argv = append(argv, "--capability="+strings.Join(system.CapabilityNames(harmless), ","))
		env = append(env, "SYSTEMD_SECCOMP=0")
	}
	for _, kv := range system.AgentEnv {
		argv = append(argv, "--setenv="+kv)
	}
	p, err := s.Start(system.Command{
		Argv: append(argv, "--", "/tare-agent", "fd:3"),
		For:  program,
		Env:  env,
		Hide: hidden,
	})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
