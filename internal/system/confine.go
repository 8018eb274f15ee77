package system

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/capability"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// MaxProcesses is the maximum number of processes and threads that belong to a guest. It is more
// than any workload starts, and few enough that a fork bomb leaves process IDs to the host.
const MaxProcesses = 4096

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

// CapabilityNames returns the names of capabilities as runtimes take them: "CAP_CHOWN".
func CapabilityNames(caps []capability.Cap) []string {
	names := make([]string, len(caps))
	for i, c := range caps {
		names[i] = "CAP_" + strings.ToUpper(c.String())
	}
	return names
}

// ReadOnlyProc are the files and directories through which root could change the host's kernel, even
// without a capability. Guests on the host's kernel see them read-only.
var ReadOnlyProc = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}

// Confiner is implemented by guests whose agent is not a process of the host: Confined is the ID of
// the process that runs the guest's programs.
type Confiner interface{ Confined() (pid int, err error) }

// confinement reads how the host's kernel confines the guest; nil for a guest that no process of
// the host contains or whose kernel is a machine's.
func (m *Machine) confinement() (*model.Confinement, error) {
	if m.Site.Group == nil || m.Driver.Capabilities().Confinement == "" {
		return nil, nil
	}
	find := m.agentPID
	if g, ok := m.Guest.(Confiner); ok {
		find = g.Confined
	}
	pid, err := find()
	if err != nil {
		return nil, err
	}
	c, err := readConfinement(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return nil, fault.Guestf("what confines its process %d: %w", pid, err)
	}
	return c, nil
}

// agentPID finds the agent among the guest's processes on the host, by the file that it executes.
func (m *Machine) agentPID() (int, error) {
	agent, err := os.Stat(m.Site.Userland.Agent)
	if err != nil {
		return 0, fault.Hostf("%w", err)
	}
	pids, err := m.Site.Group.Processes()
	if err != nil {
		return 0, fault.Hostf("processes of the guest: %w", err)
	}
	for _, pid := range pids {
		exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && os.SameFile(exe, agent) {
			return pid, nil
		}
	}
	return 0, fault.Guestf("its agent is not among its %d processes", len(pids))
}

// readConfinement reads the confinement of the process with this directory in /proc.
func readConfinement(dir string) (*model.Confinement, error) {
	b, err := os.ReadFile(dir + "/status")
	if err != nil {
		return nil, err
	}
	status := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	bounding, err := strconv.ParseUint(status["CapBnd"], 16, 64)
	if err != nil {
		return nil, fmt.Errorf("%s/status: CapBnd: %w", dir, err)
	}
	c := &model.Confinement{NoNewPrivs: status["NoNewPrivs"] == "1"}
	for _, known := range capability.ListKnown() {
		if bounding&(1<<known) != 0 {
			c.Capabilities = append(c.Capabilities, known.String())
		}
	}
	if status["Seccomp"] == "2" { // with filters
		c.SeccompFilters = 1
		if n, err := strconv.Atoi(status["Seccomp_filters"]); err == nil { // since Linux 5.9
			c.SeccompFilters = n
		}
	}
	label, err := os.ReadFile(dir + "/attr/current")
	if err == nil { // otherwise the host has no security module
		c.SecurityModule = strings.Trim(string(label), "\x00\n")
	}
	if strings.HasPrefix(c.SecurityModule, "unconfined") || strings.Contains(c.SecurityModule, ":unconfined_t:") {
		c.SecurityModule = ""
	}
	return c, nil
}
