// Package qemu runs guests as QEMU virtual machines, either with KVM or with the CPU emulated in
// software (TCG). They boot their own kernel with the agent as the first process, and use the same
// userland as every other arm.
package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
)

const program = "qemu-system-x86_64"

// Driver is the system "kvm" or "qemu-tcg".
type Driver struct {
	name, accel, cpu, verifiedOn string
}

// KVM runs the guest's code directly on the CPU.
func KVM() Driver { return Driver{"kvm", "kvm", "host", system.Lab} }

// TCG emulates the CPU.
func TCG() Driver { return Driver{"qemu-tcg", "tcg", "max", system.Live} }

func (d Driver) Name() string { return d.name }

func (d Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   d.verifiedOn,
		Freeze:       "QMP stop",
		Save:         "migration to a file",
		StopsClock:   true,
		CPUCap:       "every thread of QEMU: vCPUs, main loop, I/O",
		IOCap:        system.Means{By: "QEMU's throttling of the data disk"},
		NetCap:       system.BucketCap,
		Memory:       "the machine's RAM; QEMU's own memory comes on top",
		Swap:         system.SwapVolume,
		RawDevice:    true,
		DiskBackings: []string{model.BackingLoop, model.BackingRaw, model.BackingQCOW2, model.BackingBlock},
		Disk:         "virtio-blk, unless the option disk says otherwise",
		Networks:     []string{model.NetworkNone, model.NetworkBridged, model.NetworkNAT, model.NetworkUser},
		Port:         system.TapPort,
		Programs:     []string{program},
		NeedsRoot:    true,
		HostBoot:     "linux",
		Emulated:     d.accel == "tcg",
		Options:      options,
	}
}

func (d Driver) Check(ctx context.Context, h *system.Host) system.Status {
	_, version, err := h.Program(ctx, program)
	if err != nil {
		return system.NoProgram(err)
	}
	version = strings.TrimPrefix(version, "QEMU emulator version ")
	st := system.Status{Usable: true, Proof: program + " " + version, Versions: map[string]string{"qemu": version}}
	if d.accel == "kvm" {
		d.proveKVM(ctx, h, &st)
	}
	return st
}

// probeTimeout is how long a machine with KVM may take until its agent answers. Where KVM works it
// takes a second or two, or half a minute if this host's own CPU is emulated.
func probeTimeout() time.Duration {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(b), "QEMU TCG CPU") {
		return 2 * time.Minute
	}
	return 20 * time.Second
}

// proveKVM boots a machine: it happens that /dev/kvm exists, opens and creates vCPUs, but no
// kernel boots on it.
func (d Driver) proveKVM(ctx context.Context, h *system.Host, st *system.Status) {
	fail := func(reason, remedy string) {
		st.Usable, st.Reason, st.Remedy, st.Proof = false, reason, remedy, ""
	}
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		fail(fmt.Sprintf("no KVM here: %v", err), "switch on VT-x or AMD-V in the firmware, or nested virtualization in "+
			"the outer hypervisor, then modprobe kvm_intel or kvm_amd")
		return
	}
	f.Close()
	if h.Userland == nil {
		fail("/dev/kvm is there, but tare cannot tell whether a guest boots with it until the userland image is built",
			"tare image")
		return
	}
	took, err := system.Probe(ctx, d, h, probeTimeout())
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		fail("/dev/kvm is there, but no guest boots with it: "+why,
			"run tare on the host itself, or on one whose hypervisor offers nested VT-x or AMD-V")
		return
	}
	st.Proof += fmt.Sprintf("; a guest booted with it in %v", took.Round(10*time.Millisecond))
}

func (d Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	g, err := d.begin(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	if s.Setting(options, system.OptionBalloon) == system.HalfBalloon { // the guest's driver applies it when it starts
		if err := g.qmp.execute(ctx, "balloon", map[string]int64{"value": s.Flavor.MemoryBytes / 2}, nil); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

// begin starts QEMU with more arguments and with more files after the monitor's, and connects to its monitor.
func (d Driver) begin(ctx context.Context, s *system.Site, more []string, files ...*os.File) (*guest, error) {
	initramfs, err := s.Userland.InitramfsFor(modules(s))
	if err != nil {
		return nil, err
	}
	ours, theirs, err := system.StreamPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c := system.Command{Jail: d.jail(s, initramfs), Argv: append(d.commandLine(s, initramfs), more...),
		Files: append([]*os.File{theirs}, files...)}
	if s.Port != nil {
		c.Net = s.Port.VMMNamespace
	}
	p, err := s.Start(c)
	if err != nil {
		ours.Close()
		return nil, err
	}
	g := &guest{Process: p, site: s}
	go func() { // a QEMU that exits by itself closes the connection, but a killed one may not
		<-p.Exited()
		ours.Close()
	}()
	if g.qmp, err = newMonitor(ctx, ours); err != nil {
		g.Close() // completes the log
		return nil, fault.Guestf("QEMU does not start: %s (%w)", strings.TrimSpace(p.Log()), err)
	}
	return g, nil
}

// jail returns what QEMU gets of the host.
func (d Driver) jail(s *system.Site, initramfs string) *sandbox.Jail {
	var devices []string
	if d.accel == "kvm" {
		devices = append(devices, "/dev/kvm")
	}
	if s.Port != nil && s.Port.Tap != "" {
		devices = append(devices, "/dev/net/tun")
		if vhost(s) {
			devices = append(devices, vhostDevice)
		}
	}
	return s.Jail([]string{s.Userland.Kernel, initramfs}, devices)
}

// qmpFD is the descriptor after the agent's stream.
const qmpFD = system.AgentFD + 1

// commandLine describes the whole machine: it has no default devices.
func (d Driver) commandLine(s *system.Site, initramfs string) []string {
	f := s.Flavor
	kernelArgs := []string{"console=ttyS0", "quiet", "panic=-1", "tare.port=tare.agent"}
	args := []string{
		program, "-name", s.ID, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		// A guest that takes QEMU over can make only the system calls that a machine needs.
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-machine", "pc,accel=" + d.accel + ",mem-merge=" + s.Setting(options, "merge"), "-cpu", d.cpu,
		"-smp", strconv.Itoa(f.VCPUs), "-m", strconv.FormatInt(f.MemoryBytes>>20, 10) + "M",
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", qmpFD), "-mon", "chardev=qmp,mode=control",
		"-device", "virtio-serial-pci",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", system.AgentFD), "-device",
		"virtserialport,chardev=agent,name=tare.agent",
	}
	if s.Volume != nil {
		args = append(args,
			"-drive", "if=none,id=root,format=raw,readonly=on,file="+s.Userland.Disk, "-device", "virtio-blk-pci,drive=root")
		args = append(args, dataDisk(s)...)
		node := system.DiskModels[s.Setting(options, system.OptionDisk)].Node
		kernelArgs = append(kernelArgs, "tare.root=vda", "tare.data="+node+":"+s.Volume.FS)
		if s.Swap != nil {
			args = append(args, "-drive", "if=none,id=swap,format=raw,aio=threads,cache=none,file="+s.Swap.Device,
				"-device", "virtio-blk-pci,drive=swap")
			kernelArgs = append(kernelArgs, "tare.swap="+system.SwapNode(node))
		}
	}
	if s.Setting(options, "hugepages") == "on" {
		args = append(args, "-object", fmt.Sprintf("memory-backend-memfd,id=ram,size=%dM,hugetlb=on,prealloc=on",
			f.MemoryBytes>>20), "-machine", "memory-backend=ram")
	}
	switch s.Setting(options, system.OptionBalloon) {
	case system.Reporting:
		args = append(args, "-device", "virtio-balloon-pci,free-page-reporting=on")
	case system.HalfBalloon:
		args = append(args, "-device", "virtio-balloon-pci")
	}
	if net := netdev(s); net != "" {
		args = append(args, "-netdev", net, "-device", networkCard(s))
		kernelArgs = append(kernelArgs, system.NetworkParameter("eth0", s))
	}
	return append(args, "-kernel", s.Userland.Kernel, "-initrd", initramfs, "-append",
		strings.Join(kernelArgs, " "))
}

type guest struct {
	*system.Process
	site  *system.Site
	qmp   *monitor
	close sync.Once
	err   error
}

// Freeze stops the vCPUs, and with them the guest's clocks.
func (g *guest) Freeze(ctx context.Context) error { return g.run(ctx, "stop", false) }

func (g *guest) Thaw(ctx context.Context) error { return g.run(ctx, "cont", true) }

func (g *guest) run(ctx context.Context, command string, running bool) error {
	if err := g.qmp.execute(ctx, command, nil, nil); err != nil {
		return err
	}
	var st struct {
		Running bool
		Status  string
	}
	if err := g.qmp.execute(ctx, "query-status", nil, &st); err != nil {
		return err
	}
	if st.Running != running {
		return fault.Guestf("after %s the machine is %q", command, st.Status)
	}
	return nil
}

// CapIO throttles the data disk.
func (g *guest) CapIO(ctx context.Context, c model.IOCaps) error {
	return g.qmp.execute(ctx, "block_set_io_throttle", map[string]any{
		"device": "data", "bps": 0, "bps_rd": c.Read, "bps_wr": c.Write, // 0: no cap
		"iops": 0, "iops_rd": c.ReadOps, "iops_wr": c.WriteOps,
	}, nil)
}

// ReturnDelay is the time after which Linux has reported all pages that became free: it starts
// reporting after two seconds.
func (g *guest) ReturnDelay() time.Duration {
	if g.site.Setting(options, system.OptionBalloon) == system.Reporting {
		return 3 * time.Second
	}
	return 0
}

func (g *guest) Close() error {
	g.close.Do(func() {
		if g.qmp != nil {
			g.qmp.conn.Close()
		}
		g.err = errors.Join(g.Kill(), g.site.Group.Remove())
	})
	return g.err
}
