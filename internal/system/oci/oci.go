// Package oci makes the bundles that OCI runtimes start guests from. All runtimes get the same
// bundle, so that arms differ only in the runtime.
package oci

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/profiles/seccomp"
	"github.com/moby/sys/capability"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// BundleDir is where the bundle of a site's guest is.
func BundleDir(s *system.Site) string { return filepath.Join(s.Dir, "bundle") }

// Bundle writes a bundle with this configuration to the site and returns its
// directory.
func Bundle(s *system.Site, spec *specs.Spec) (string, error) {
	dir := BundleDir(s)
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

// Spec returns the configuration of a guest on a site, confined as Docker confines its containers by
// default, unless its flavor has no hardening. Paths are masked in any case. It contains no limits:
// they are set on the group above the container.
func Spec(s *system.Site) (*specs.Spec, error) {
	tmpfs := func(at, mode string) specs.Mount {
		return specs.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs",
			Options: []string{"nosuid", "nodev", "mode=" + mode}}
	}
	bind := func(from, at string, options ...string) specs.Mount {
		return specs.Mount{Destination: at, Type: "bind", Source: from, Options: append([]string{"bind"}, options...)}
	}
	open := s.Flavor.Hardening == model.HardeningNone
	granted, err := capabilities(open)
	if err != nil {
		return nil, err
	}
	net := specs.LinuxNamespace{Type: specs.NetworkNamespace} // a new one, with nothing in it
	if s.Port != nil {
		net.Path = s.Port.Namespace
	}
	spec := &specs.Spec{
		Version: "1.0.2",
		Process: &specs.Process{
			// Standard input and output are the only streams that runtimes pass on when they restore a guest.
			Args: []string{"/tare-agent", "stdio"},
			Env:  system.AgentEnv,
			Cwd:  "/",
			Capabilities: &specs.LinuxCapabilities{
				Bounding: granted, Effective: granted, Permitted: granted,
			},
			NoNewPrivileges: !open,
		},
		Root:     &specs.Root{Path: s.Userland.Tree, Readonly: true},
		Hostname: "tare",
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance",
				"ptmxmode=0666", "mode=0620"}},
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
			MaskedPaths: []string{
				"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys",
				"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
				"/sys/devices/virtual/powercap", "/sys/firmware",
			},
			ReadonlyPaths: system.ReadOnlyProc,
		},
	}
	if open {
		return spec, nil
	}
	// The profile's rules depend on the capabilities.
	if spec.Linux.Seccomp, err = seccomp.GetDefaultProfile(spec); err != nil {
		return nil, fault.Hostf("Docker's seccomp profile: %w", err)
	}
	return spec, nil
}

// dockers are the capabilities that Docker grants by default.
var dockers = []capability.Cap{
	capability.CAP_CHOWN, capability.CAP_DAC_OVERRIDE, capability.CAP_FSETID, capability.CAP_FOWNER,
	capability.CAP_MKNOD, capability.CAP_NET_RAW, capability.CAP_SETGID, capability.CAP_SETUID,
	capability.CAP_SETFCAP, capability.CAP_SETPCAP, capability.CAP_NET_BIND_SERVICE,
	capability.CAP_SYS_CHROOT, capability.CAP_KILL, capability.CAP_AUDIT_WRITE,
}

// capabilities returns the names of those that a guest gets: Docker's, or all harmless ones.
func capabilities(open bool) ([]string, error) {
	possible, err := system.HarmlessCapabilities()
	if err != nil {
		return nil, err
	}
	return system.CapabilityNames(slices.DeleteFunc(possible, func(c capability.Cap) bool {
		return !open && !slices.Contains(dockers, c)
	})), nil
}
