// Package lxc runs guests as LXC containers with the LXC tools.
package lxc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

const program = "lxc-start"

// Driver is the system "lxc".
type Driver struct{}

func (Driver) Name() string { return "lxc" }

func (Driver) Capabilities() system.Capabilities {
	caps := system.GroupCapabilities("every process of the container and its monitor",
		"Debian's seccomp profile, and its AppArmor profile where that is loaded")
	caps.Programs, caps.RawDevice = []string{program}, true
	return caps
}

func (Driver) Check(ctx context.Context, h *system.Host) system.Status {
	p, version, err := h.Program(ctx, program)
	if err != nil {
		return system.NoProgram(err)
	}
	if _, err := os.Stat(p.File(seccompProfile)); err != nil {
		return system.Unusable(fmt.Sprintf("LXC's seccomp profile: %v", err), "apt-get install lxc liblxc-common")
	}
	return system.Status{Usable: true, Proof: program + " " + version, Versions: map[string]string{"lxc": version}}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	text, err := config(s)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, "config")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	// Runs in the foreground, so that the monitor is our child and the container's first
	// process inherits the agent's stream.
	p, err := s.Start(system.Command{Argv: []string{
		program, "--foreground", "--lxcpath", s.Dir, "--name", "guest", "--rcfile", file,
		"--logpriority", "WARN", "--logfile", "/dev/stderr",
	}})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}

const (
	// seccompProfile denies the system calls with which root could load modules, start another
	// kernel and open files by their handles. Debian's default for all containers.
	seccompProfile = "/usr/share/lxc/config/common.seccomp"
	// appArmorProfile forbids mounting, among other things. Debian's package loads it when the host
	// boots. LXC's "generated" would be loaded for each container, and stay if LXC was killed.
	appArmorProfile = "lxc-container-default-cgns"
)

// confinement returns the configuration of what a container may do. Debian's default drops the
// capabilities mac_admin, mac_override, sys_module, sys_rawio and sys_time; none of them is kept
// here. Debian's rules for devices are those of the site's group.
func confinement(hardening string) ([][2]string, error) {
	keep, err := system.HarmlessCapabilities()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range keep {
		names = append(names, c.String())
	}
	lines := [][2]string{
		{"lxc.cap.keep", strings.Join(names, " ")},
		{"lxc.mount.auto", "proc:mixed sys:mixed"},
	}
	apparmor := "unconfined"
	if hardening != model.HardeningNone {
		lines = append(lines, [2]string{"lxc.seccomp.profile", seccompProfile})
		loaded, _ := os.ReadFile("/sys/kernel/security/apparmor/profiles") // not there without AppArmor
		if strings.Contains(string(loaded), appArmorProfile+" ") {
			apparmor = appArmorProfile
		}
	}
	return append(lines, [2]string{"lxc.apparmor.profile", apparmor}), nil
}

func config(s *system.Site) (string, error) {
	confined, err := confinement(s.Flavor.Hardening)
	if err != nil {
		return "", err
	}
	g := s.Group.Name()
	// brings loopback up, which would otherwise be down
	net := [][2]string{{"lxc.net.0.type", "empty"}, {"lxc.net.0.flags", "up"}}
	if s.Port != nil {
		net = [][2]string{{"lxc.namespace.share.net", s.Port.Namespace}}
	}
	lines := [][2]string{
		{"lxc.uts.name", "tare"},
		{"lxc.rootfs.path", "dir:" + s.Userland.Tree},
		{"lxc.rootfs.options", "ro"},
		{"lxc.init.cmd", "/tare-agent fd:3"},
		// Everything is inside the guest's group, so that its limits apply to all of it.
		{"lxc.cgroup.dir.container", g + "/container"},
		{"lxc.cgroup.dir.monitor", g + "/monitor"},
		{"lxc.cgroup.dir.monitor.pivot", g + "/pivot"},
		// With cgroup version 1, LXC widens the CPU sets of the groups above its own to those of
		// the host, so the container's set must be repeated here.
		{"lxc.cgroup.cpuset.cpus", s.Flavor.CPUs.String()},
		{"lxc.console.path", "none"},
		{"lxc.tty.max", "0"},
		{"lxc.pty.max", "16"},
		{"lxc.autodev", "1"},
		{"lxc.mount.entry", "tmpfs tmp tmpfs nosuid,nodev,mode=1777 0 0"},
		{"lxc.mount.entry", "tmpfs run tmpfs nosuid,nodev,mode=755 0 0"},
		{"lxc.mount.entry", "tmpfs dev/shm tmpfs nosuid,nodev,mode=1777,create=dir 0 0"},
		{"lxc.mount.entry", s.DataDir + " data none bind 0 0"},
		{"lxc.mount.entry", s.Userland.Agent + " tare-agent none bind,ro 0 0"},
	}
	lines = slices.Concat(lines, net, confined)
	for _, kv := range system.AgentEnv {
		lines = append(lines, [2]string{"lxc.environment", kv})
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s = %s\n", l[0], l[1])
	}
	return b.String(), nil
}
