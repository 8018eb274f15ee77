// Package oci makes the bundles that OCI runtimes start guests from. All runtimes get the same
// bundle, so that arms differ only in the runtime.
package oci

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Bundle writes a bundle with this configuration to the site and returns its
// directory.
func Bundle(s *system.Site, spec *specs.Spec) (string, error) {
	dir := filepath.Join(s.Dir, "bundle")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fault.Hostf("%w", err)
	}
	b, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), b, 0o644); err != nil {
		return "", fault.Hostf("%w", err)
	}
	return dir, nil
}

// Spec returns the configuration of a guest on a site. It contains no limits: they are set on the
// group above the container.
func Spec(s *system.Site) *specs.Spec {
	tmpfs := func(at, mode string) specs.Mount {
		return specs.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=" + mode}}
	}
	bind := func(from, at string, options ...string) specs.Mount {
		return specs.Mount{Destination: at, Type: "bind", Source: from, Options: append([]string{"bind"}, options...)}
	}
	all := capabilities()
	net := specs.LinuxNamespace{Type: specs.NetworkNamespace} // a new one, with nothing in it
	if s.Port != nil {
		net.Path = s.Port.Namespace
	}
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
				{Type: specs.UTSNamespace}, net,
			},
		},
	}
}

// capabilities returns the capabilities that container engines grant by default, without those
// that tare does not have itself.
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
