// Package xen runs guests as domains of the Xen hypervisor, created with xl from its privileged
// domain. They boot their own kernel with the agent as the first process, and use the same userland
// as every other arm.
package xen

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
	"github.com/tare-bench/tare/internal/xenctl"
)

// Driver is the system "xen-pv", "xen-pvh" or "xen-hvm"; the one that can save guests is Saving.
type Driver struct {
	name  string
	kind  string // type of the domain, in xl's terms
	needs string // required entry in the hypervisor's virt_caps

	verified string // as in Capabilities.VerifiedOn
}

const kindPV, kindHVM = "pv", "hvm"

// PV guests are paravirtualized: they need no virtualization by the CPU, and ask Xen instead.
func PV() Saving { return Saving{Driver{"xen-pv", kindPV, "pv", system.Lab}} }

// PVH guests use the CPU's virtualization and Xen's devices, without emulated ones.
func PVH() Driver { return Driver{"xen-pvh", "pvh", "hvm", system.Lab} }

// HVM guests use the CPU's virtualization, a PC's firmware and chipset emulated by QEMU, and Xen's
// disks, network and console. In the lab the firmware loads the kernel too slowly to boot in time,
// so they are not verified there.
func HVM() Driver { return Driver{"xen-hvm", kindHVM, "hvm", system.NeedsProduct} }

func (d Driver) Name() string { return d.name }

// servedByDom0 is why tare caps neither I/O nor network.
var servedByDom0 = system.Means{
	WhyNot: "dom0's kernel serves its disk and its network outside the guest's control group",
}

var options = []system.Option{{
	Name: system.OptionBalloon, Values: []string{system.NoBalloon, system.HalfBalloon}, Default: system.NoBalloon,
	About: "half: the domain begins with half of its memory, and its balloon holds the other half",
}}

func (d Driver) Capabilities() system.Capabilities {
	caps := system.Capabilities{
		VerifiedOn:   d.verified,
		Freeze:       "xl pause",
		CPUCap:       "virtual CPUs (Xen's scheduler); what dom0 does for the guest is not capped",
		IOCap:        servedByDom0,
		NetCap:       servedByDom0,
		Memory:       "the domain's memory",
		Swap:         system.SwapVolume,
		RawDevice:    true,
		DiskBackings: []string{model.BackingLoop, model.BackingBlock},
		Networks:     []string{model.NetworkNone, model.NetworkBridged, model.NetworkNAT},
		Port:         system.EmptyPort,
		NeedsRoot:    true,
		HostBoot:     "xen-dom0",
		Options:      options,
	}
	if d.kind == kindPV {
		caps.Save = "xl save"
	}
	return caps
}

func (d Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	if !xenctl.Dom0() {
		return system.Unusable("this host was not booted as Xen's dom0",
			"install xen-system-amd64 and boot its entry; or, in emulation: tare lab up xen")
	}
	info, err := xlInfo(ctx)
	if err != nil {
		return system.Unusable(err.Error(), "apt-get install xen-utils; systemctl start xen")
	}
	if caps := strings.Fields(info["virt_caps"]); !slices.Contains(caps, d.needs) {
		return system.Unusable(fmt.Sprintf("this Xen has no %s guests here: its virt_caps are %s", d.kind, info["virt_caps"]),
			"switch on VT-x or AMD-V in the firmware")
	}
	if d.kind == kindHVM && deviceModel() == "" {
		return system.Unusable("no device model is installed: Xen's QEMU, which emulates a PC around a guest",
			"apt-get install qemu-system-xen")
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

// Create creates a domain and connects to its second console.
func (d Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	return d.begin(ctx, s, creating)
}

// The commands by which xl makes a domain.
const creating, restoring = "create", "restore"

// begin has xl make a domain by this command, which reads the domain's configuration and perhaps more, and connects
// to the domain.
func (d Driver) begin(ctx context.Context, s *system.Site, command string, more ...string) (system.Guest, error) {
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
	// In the foreground, xl handles the domain's end and then exits. Its output is the guest's
	// first console, to which the guest's kernel logs.
	argv := append([]string{toolstack, command, "-F", "-c", file}, more...)
	p, err := s.Start(system.Command{Hide: d.hidden(), Argv: argv})
	if err != nil {
		root.close()
		return nil, err
	}
	g := &guest{Process: p, site: s, config: config, root: root}
	if err := g.join(ctx, command == restoring); err != nil {
		g.Close() // completes the log
		return nil, fmt.Errorf("%w%s", err, lastWords(p.Log()))
	}
	return g, nil
}

// lastWords returns the end of a log in one line, for an error message.
func lastWords(log string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(log, "\r", "")), "\n")
	if lines = lines[max(0, len(lines)-14):]; lines[0] == "" {
		return ""
	}
	return "; its log ends: " + strings.Join(lines, "; ")
}
