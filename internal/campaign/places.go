package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// checkPlace checks the network and the data volume of a flavor's guests.
func (r *checker) checkPlace(path string, f model.Flavor, host Host) {
	if why, lacks := host.Lacks[f.Network]; lacks {
		r.Fail(path+".network", "network %s cannot be created on this host: %s", f.Network, why)
	}
	if why, lacks := host.Lacks[f.DiskFS]; lacks {
		r.Fail(path+".fs", "data volumes with %s cannot be made on this host: %s", f.DiskFS, why)
	}
	if why, lacks := host.Lacks[f.Backing]; lacks {
		r.Fail(path+".backing", "data volumes with backing %s cannot be made on this host: %s", f.Backing, why)
	}
	for i, d := range f.Devices {
		at := path + ".device"
		if r.Has(at + "[0]") {
			at = fmt.Sprintf("%s[%d]", at, i)
		}
		if slices.Contains(f.Devices[:i], d) {
			r.Fail(at, "device %s appears twice", d)
		} else if why, lacks := host.Lacks[d]; lacks {
			r.Fail(at, "%s", why)
		}
	}
	switch {
	case f.Backing == model.BackingBlock && len(f.Devices) == 0:
		r.Fail(path+".backing", "backing: block needs the key device: the devices that tare may write to")
	case f.Backing != model.BackingBlock && len(f.Devices) > 0:
		r.Fail(path+".device", "device is for backing: block, but the backing is %s", f.Backing)
	}
	if f.InTurn && f.Backing != model.BackingBlock {
		r.Fail(path+".in_turn", "in_turn is for backing: block, but the backing is %s", f.Backing)
	}
}

// checkPlaces checks that guests of an arm can have the network, backing, hardening and programs of the flavor.
func (r *checker) checkPlaces(path string, a Arm, f model.Flavor, limits Limits) {
	if f.Backing != model.BackingLoop && !slices.Contains(limits.Backings, f.Backing) {
		r.Fail(path, "arm %q: %s does not support backing %q, which flavor %q asks for; it supports %s",
			a.Name, a.System, f.Backing, f.Name, strings.Join(append([]string{model.BackingLoop}, limits.Backings...), ", "))
	}
	if f.DiskFS == model.NoFS && !limits.RawDevice {
		r.Fail(path, "arm %q: guests of %s cannot open the device of their data volume, but flavor %q has fs: none", a.Name,
			a.System, f.Name)
	}
	if f.Network != model.NetworkNone && !slices.Contains(limits.Networks, f.Network) {
		r.Fail(path, "arm %q: %s does not support network %q, which flavor %q asks for; it supports %s",
			a.Name, a.System, f.Network, f.Name, strings.Join(append([]string{model.NetworkNone}, limits.Networks...), ", "))
	}
	if f.Hardening == model.HardeningNone && !limits.Open {
		r.Fail(path, "arm %q: what confines guests of %s cannot be removed, but flavor %q has hardening none",
			a.Name, a.System, f.Name)
	}
	if f.Programs == "" {
		return
	}
	if limits.CheckPrograms == nil {
		r.Fail(path, "arm %q: whose programs make guests of %s cannot be chosen, but flavor %q has programs %s",
			a.Name, a.System, f.Name, f.Programs)
	} else if err := limits.CheckPrograms(f.Programs); err != nil {
		r.Fail(path, "arm %q: %s", a.Name, fault.OneLine(err))
	}
}

// checkDevices checks that there is a device for every guest.
func (r *checker) checkDevices(c *Campaign) {
	if !r.Sound("scenarios") {
		return
	}
	most := map[string]int{} // guests that exist at the same time, by flavor
	c.inEachBoot(func(arms []Arm) {
		alive := map[string]int{}
		for _, a := range arms {
			guests, onHost := c.guests(a)
			for _, some := range []map[string]int{guests, onHost} {
				for flavor, n := range some {
					alive[flavor] += n
				}
			}
		}
		for flavor, n := range alive {
			most[flavor] = max(most[flavor], n)
		}
	})
	for _, f := range c.Flavors {
		if f.InTurn {
			r.checkTurns(c, f)
			continue
		}
		if n := most[f.Name]; f.Backing == model.BackingBlock && len(f.Devices) > 0 && n > len(f.Devices) {
			r.Fail("flavors."+f.Name+".device", "flavor %q has too few devices: %d, for %d guests that exist at the same "+
				"time, including the A/A control",
				f.Name, len(f.Devices), n)
		}
	}
}

// checkTurns checks that there is a device for every guest of one arm, and that no guests of two arms are needed at
// once.
func (r *checker) checkTurns(c *Campaign, f model.Flavor) {
	at := "flavors." + f.Name
	for _, a := range c.Active() {
		guests, onHost := c.guests(a)
		if n := guests[f.Name] + onHost[f.Name]; n > len(f.Devices) && len(f.Devices) > 0 {
			r.Fail(at+".device", "flavor %q has too few devices: %d, for %d guests of arm %q that exist at the same time",
				f.Name, len(f.Devices), n, a.Name)
		}
	}
	switch {
	case len(c.Attacks) > 0:
		r.Fail(at+".in_turn", "flavor %q: attacks need other guests at the same time, but its guests take turns", f.Name)
	case c.Duets > 0 && r.Has("duets"):
		r.Fail(at+".in_turn", "flavor %q: duets need the guests of all arms at the same time, but its guests take turns",
			f.Name)
	default:
		c.Duets = 0
	}
}
