// Package xen runs guests as domains of the Xen hypervisor, made with xl from
// its privileged domain. They boot a kernel of their own with the agent as their
// first process, over the same userland as every other arm.
package xen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/volume"
	"github.com/tare-bench/tare/internal/xenctl"
)

// Driver is the system "xen-pv", "xen-pvh" or "xen-hvm".
type Driver struct {
	name  string
	kind  string // of domain, as xl names it
	needs string // of the hypervisor's virt_caps

	verified string // on what, as in Capabilities
}

const kindHVM = "hvm"

// PV guests know that they run under Xen and ask it for what a CPU cannot give.
func PV() Driver { return Driver{"xen-pv", "pv", "pv", system.Lab} }

// PVH guests have the CPU's virtualization and Xen's devices, and no emulation.
func PVH() Driver { return Driver{"xen-pvh", "pvh", "hvm", system.Lab} }

// HVM guests have the CPU's virtualization, a PC's firmware and chipset that a
// QEMU emulates, and Xen's disks, network and console. In the lab that QEMU's
// boot program loads the kernel too slowly for any patience.
func HVM() Driver { return Driver{"xen-hvm", kindHVM, "hvm", system.NeedsProduct} }

func (d Driver) Name() string { return d.name }

func (d Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   d.verified,
		Freeze:       "xl pause",
		CPUCap:       "virtual CPUs (Xen's scheduler); what dom0 does for the guest is not capped",
		Memory:       "the domain's memory",
		DiskBackings: []string{volume.Loop, volume.Block},
		Networks:     []string{network.None, network.Bridged, network.NAT},
		Port:         system.EmptyPort,
		NeedsRoot:    true,
		HostBoot:     "xen-dom0",
	}
}

func (d Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	if !xenctl.Dom0() {
		return system.Unusable("this host was not booted as Xen's dom0", "install xen-system-amd64 and boot its entry; or, in emulation: tare lab up xen")
	}
	info, err := xlInfo(ctx)
	if err != nil {
		return system.Unusable(err.Error(), "apt-get install xen-utils; systemctl start xen")
	}
	if caps := strings.Fields(info["virt_caps"]); !slices.Contains(caps, d.needs) {
		return system.Unusable(fmt.Sprintf("this Xen has no %s guests here: its virt_caps are %s", d.kind, info["virt_caps"]), "switch on VT-x or AMD-V in the firmware")
	}
	if d.kind == kindHVM && deviceModel() == "" {
		return system.Unusable("there is no device model: Xen's QEMU, which emulates a PC around a guest", "apt-get install qemu-system-xen")
	}
	if _, err := schedulerCommand(info["xen_scheduler"]); err != nil {
		return system.Unusable(err.Error(), "boot Xen with sched=credit2 or sched=credit")
	}
	if _, err := xenctl.Domains(); err != nil {
		return system.Unusable(err.Error(), fault.RemedyOf(err))
	}
	version := info["xen_version"]
	return system.Status{
		Usable: true, Proof: fmt.Sprintf("dom0 of Xen %s, scheduler %s", version, info["xen_scheduler"]),
		Versions: map[string]string{"xen": version},
	}
}

// Create makes a domain and joins its second console.
func (d Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	root, err := openDisk(s)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, "domain.cfg")
	config := d.config(s, root.path)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		root.close()
		return nil, fault.Hostf("%w", err)
	}
	// In the foreground, xl takes care of the domain's end and then ends itself;
	// what the guest's kernel says on its first console is its output.
	p, err := s.Start(system.Command{Hide: d.hidden(), Argv: []string{toolstack, "create", "-F", "-c", file}})
	if err != nil {
		root.close()
		return nil, err
	}
	g := &guest{Process: p, site: s, config: config, root: root}
	if err := g.join(ctx); err != nil {
		g.Close() // all of the log is there when it has ended
		return nil, fmt.Errorf("%w%s", err, lastWords(p.Log()))
	}
	return g, nil
}

// lastWords is the end of a log in one line.
func lastWords(log string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(log, "\r", "")), "\n")
	if lines = lines[max(0, len(lines)-14):]; lines[0] == "" {
		return ""
	}
	return "; it said last: " + strings.Join(lines, "; ")
}
