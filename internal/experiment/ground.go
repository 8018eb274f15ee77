package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/store"
)

// ground is what all trials of a run should have in common besides the campaign.
type ground struct {
	env     host.Environment
	image   image.Manifest
	systems []System
	version string // of tare
}

// memoryTolerance is by how much the memory of the same machine may seem to differ: the
// kernel takes a varying part for itself.
const memoryTolerance = 1.0 / 64

// difference says in what a resumed run would differ from its beginning: refused is why
// its trials cannot be in one run, "" if they can; changed is what a finding must say.
// Each boot of a campaign with boots has its own ground, and other boots are no change.
func (g ground) difference(now ground, boots bool) (refused string, changed []string) {
	known := func(what string, was, is any, differs bool) {
		if differs && refused == "" {
			refused = fmt.Sprintf("%s: %v before, %v now", what, was, is)
		}
	}
	same := func(what, was, is string) { known(what, was, is, was != is) }
	if g.env.HostID != now.env.HostID {
		refused = "another machine"
	}
	same("kernel", g.env.Kernel.Release, now.env.Kernel.Release)
	same("CPU", cpuOf(g.env), cpuOf(now.env))
	same("number of CPUs", fmt.Sprint(g.env.CPU.Threads), fmt.Sprint(now.env.CPU.Threads))
	same("hypervisor", hypervisorOf(g.env), hypervisorOf(now.env))
	// A dom0 gives memory to its domains.
	if was, is := g.env.Memory.Total, now.env.Memory.Total; was != nil && is != nil && g.env.Virt.Role != host.XenDom0 {
		most := float64(max(*was, *is))
		known("memory", *was, *is, float64(max(*was-*is, *is-*was)) > memoryTolerance*most)
	}
	same("userland image", g.image.Key, now.image.Key)
	if g.image.DiskSHA256 != "" {
		same("content of the userland image", g.image.DiskSHA256, now.image.DiskSHA256)
	}

	change := func(what, was, is string) {
		if was != is {
			changed = append(changed, fmt.Sprintf("%s: %q before, %q now", what, was, is))
		}
	}
	if !boots {
		change("boot of the host", g.env.BootID, now.env.BootID)
	}
	change("version of tare", g.version, now.version)
	change("microcode", g.env.CPU.Microcode, now.env.CPU.Microcode)
	change("build of the kernel", g.env.Kernel.Build, now.env.Kernel.Build)
	change("boot parameters", g.env.Kernel.Cmdline, now.env.Kernel.Cmdline)
	change("mitigations", settings(g.env.CPU.Mitigations), settings(now.env.CPU.Mitigations))
	change("SMT", told(g.env.CPU.SMT), told(now.env.CPU.SMT))
	change("turbo", told(g.env.CPU.Turbo), told(now.env.CPU.Turbo))
	change("frequency governors", governors(g.env), governors(now.env))
	change("transparent huge pages", g.env.Memory.THP, now.env.Memory.THP)
	change("clock source", g.env.Clock.Source, now.env.Clock.Source)
	for _, was := range g.systems {
		for _, is := range now.systems {
			if was.Name == is.Name && len(was.Versions) > 0 && len(is.Versions) > 0 {
				change("versions of "+was.Name, settings(was.Versions), settings(is.Versions))
			}
		}
	}
	return refused, changed
}

func cpuOf(e host.Environment) string {
	return strings.Join([]string{e.CPU.Arch, e.CPU.Vendor, e.CPU.Model, e.CPU.Family, e.CPU.ModelID, e.CPU.Stepping}, " ")
}

func hypervisorOf(e host.Environment) string { return string(e.Virt.Role) + " " + e.Virt.Of }

func settings(of map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, name+": "+of[name])
	}
	return strings.Join(list, ", ")
}

func told(on *bool) string {
	if on == nil {
		return "unknown"
	}
	return fmt.Sprint(*on)
}

func governors(e host.Environment) string {
	var list []string
	for _, p := range e.CPU.Policies {
		list = append(list, p.CPUs+": "+p.Governor)
	}
	return strings.Join(list, ", ")
}

// groundOf reads what the trials of a run have in common so far; described is the
// document with the environment of their boot.
func groundOf(s *store.Run, described string) (g ground, err error) {
	for name, v := range map[string]any{described: &g.env, store.DocUserland: &g.image, store.DocSystems: &g.systems} {
		decode := s.Decode
		if name == store.DocSystems { // it only serves to compare versions
			decode = s.DecodeIfAny
		}
		if err := decode(name, v); err != nil {
			return g, err
		}
	}
	sessions, err := s.Sessions()
	if err == nil && len(sessions) > 0 {
		g.version = sessions[0].Version
	}
	return g, err
}

// sameGround refuses to mix trials in one run that are not comparable, and notes what
// else has changed since the run began. version is tare's own.
func (e *Experiment) sameGround(version string) error {
	s := e.Run
	described := store.DocEnvironment
	boots := len(e.Campaign.Boots) > 0
	if boots { // each has an environment of its own
		described = store.EnvironmentOf(BootOf(e.env))
		text, err := json.Marshal(e.env)
		if err != nil {
			return err
		}
		if err := s.Describe(described, text); err != nil {
			return err
		}
	}
	before, err := groundOf(s, described)
	if err != nil {
		return err
	}
	if before.version == "" { // the run was killed before its first session
		before.version = version
	}
	now := ground{env: *e.env, image: e.bed.Image.Manifest, systems: e.bed.Entries(e.status), version: version}
	refused, changed := before.difference(now, boots)
	if refused != "" {
		err := fault.Campaignf("%s cannot be resumed, because it was begun on something else: %s", s.Path(), refused)
		return fault.WithRemedy(err, "start a new run; this one can still be shown")
	}
	e.changed = changed
	return nil
}
