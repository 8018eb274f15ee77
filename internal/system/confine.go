package system

import (
	"slices"

	"github.com/moby/sys/capability"

	"github.com/tare-bench/tare/internal/fault"
)

// maxProcesses is the maximum number of processes and threads that belong to a guest. It is more
// than any workload starts, and few enough that a fork bomb leaves process IDs to the host.
const maxProcesses = 4096

// harmless are the capabilities with which root in a guest on the host's kernel can affect only
// the guest. With each of the others it could leave the guest: mount the host's file systems, read
// any file by its handle, load modules, set the clock, trace tare's processes.
var harmless = []capability.Cap{
	capability.CAP_CHOWN, capability.CAP_DAC_OVERRIDE, capability.CAP_FOWNER, capability.CAP_FSETID,
	capability.CAP_KILL, capability.CAP_SETGID, capability.CAP_SETUID, capability.CAP_SETPCAP,
	capability.CAP_LINUX_IMMUTABLE, capability.CAP_NET_BIND_SERVICE, capability.CAP_NET_BROADCAST,
	capability.CAP_NET_ADMIN, capability.CAP_NET_RAW, capability.CAP_IPC_LOCK, capability.CAP_IPC_OWNER,
	capability.CAP_SYS_CHROOT, capability.CAP_SYS_NICE, capability.CAP_SYS_RESOURCE, capability.CAP_SYS_TTY_CONFIG,
	capability.CAP_MKNOD, capability.CAP_LEASE, capability.CAP_AUDIT_WRITE, capability.CAP_SETFCAP,
}

// HarmlessCapabilities returns those capabilities that root in a guest on the host's kernel may
// have, whatever its system grants by default, without those that tare does not have itself.
func HarmlessCapabilities() ([]capability.Cap, error) {
	own, err := capability.NewPid2(0)
	if err == nil {
		err = own.Load()
	}
	if err != nil {
		return nil, fault.Hostf("tare's own capabilities: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(harmless), func(c capability.Cap) bool {
		return !own.Get(capability.BOUNDING, c)
	}), nil
}

// HarmfulCapabilities returns all other capabilities that the host's kernel knows.
func HarmfulCapabilities() ([]capability.Cap, error) {
	all, err := capability.ListSupported()
	if err != nil {
		return nil, fault.Hostf("the kernel's capabilities: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(c capability.Cap) bool {
		return slices.Contains(harmless, c)
	}), nil
}

// ReadOnlyProc are the files and directories through which root could change the host's kernel, even
// without a capability. Guests on the host's kernel see them read-only.
var ReadOnlyProc = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
