// Package libvirt measures domains of libvirt: domains that tare creates from a flavor with
// libvirt's QEMU and LXC drivers, and existing domains.
//
// For the domains that it creates, tare runs its own libvirtd in the sandbox, with private
// directories. The host's libvirtd does not know of them, and if tare is killed, none are left.
package libvirt

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is one of the systems "libvirt-qemu", "libvirt-kvm" and "libvirt-lxc"; those with machines are Machines.
type Driver struct {
	name, uri, kind string // kind is the domain's type
	verifiedOn      string
	daemon          *system.Daemon
}

// QEMU creates machines with an emulated CPU.
func QEMU() Machines {
	return Machines{Driver{"libvirt-qemu", "qemu:///system", "qemu", system.Live, daemon}}
}

// KVM creates machines whose code runs directly on the CPU.
func KVM() Machines {
	return Machines{Driver{"libvirt-kvm", "qemu:///system", "kvm", system.NeedsProduct, daemon}}
}

// LXC creates containers. All three systems share a daemon.
func LXC() Driver { return Driver{"libvirt-lxc", "lxc:///system", "lxc", system.Live, daemon} }

func (d Driver) Name() string { return d.name }

// KeepDaemon is that of system.Served.
func (d Driver) KeepDaemon(ctx context.Context, id string) (system.Keep, error) {
	return d.daemon.KeepDaemon(ctx, id)
}

func (d Driver) container() bool { return d.kind == "lxc" }

func (d Driver) Capabilities() system.Capabilities {
	if d.container() {
		caps := system.GroupCapabilities("every process of the container and its controller",
			"a smaller set of capabilities; libvirt has no filter of system calls for containers")
		caps.Networks, caps.NetCap = []string{model.NetworkNone}, system.NoPortCap
		caps.NoSave = "libvirt's LXC driver cannot save a container"
		return caps
	}
	return system.Capabilities{
		VerifiedOn:   d.verifiedOn,
		Freeze:       "virsh suspend",
		StopsClock:   true,
		Save:         "virsh save",
		CPUCap:       "every thread of QEMU: vCPUs, main loop, I/O",
		IOCap:        system.Means{By: "libvirt's blkdeviotune: QEMU's throttling of the data disk"},
		NetCap:       system.NoPortCap,
		Memory:       "the machine's RAM; QEMU's own memory comes on top",
		Swap:         system.SwapVolume,
		RawDevice:    true,
		DiskBackings: []string{model.BackingLoop, model.BackingBlock},
		Disk:         "virtio-blk, unless the option disk says otherwise, cache=none",
		Networks:     []string{model.NetworkNone},
		NeedsRoot:    true,
		HostBoot:     "linux",
		Emulated:     d.kind == "qemu",
		Options:      options,
	}
}

// BootFiles is that of system.Booter.
func (m Machines) BootFiles(s *system.Site) ([]string, error) {
	return s.Userland.BootFiles(system.DiskModels[s.Setting(options, system.OptionDisk)].Modules)
}

const program = "libvirtd"

const remedy = "apt-get install libvirt-daemon-system libvirt-daemon-driver-qemu libvirt-daemon-driver-lxc"

// probeTimeout is how long a machine with KVM may take until its agent answers, after libvirtd has
// started.
const probeTimeout = time.Minute

func (d Driver) Check(ctx context.Context, h *system.Host) system.Status {
	p, version, err := h.Program(ctx, program)
	if err != nil {
		return system.NoProgram(err)
	}
	for _, dir := range state {
		if _, err := os.Stat(p.File(dir)); err != nil {
			return system.Unusable(fmt.Sprintf("libvirtd is only partly installed: %v", err), remedy)
		}
	}
	st := system.Status{Usable: true, Proof: version + ", to be started by tare for itself",
		Versions: map[string]string{"libvirtd": version}}
	if d.kind != "kvm" {
		return st
	}
	if _, err := os.Stat("/dev/kvm"); err != nil {
		return system.Unusable(fmt.Sprintf("no KVM here: %v", err), "see what tare systems says about kvm")
	}
	if h.Userland == nil {
		return system.Unusable("/dev/kvm is there, but tare cannot tell whether a guest boots with it until the userland "+
			"image is built", "tare image")
	}
	took, err := system.Probe(ctx, d, h, probeTimeout)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return system.Unusable("/dev/kvm is there, but no guest boots with it: "+why, fault.RemedyOf(err))
	}
	st.Proof += fmt.Sprintf("; a guest booted with KVM in %v", took.Round(10*time.Millisecond))
	return st
}
