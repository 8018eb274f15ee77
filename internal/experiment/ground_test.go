package experiment

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/image"
)

// TestGround changes one property of the machine at a time: each is refused or found,
// and without a change there is neither.
func TestGround(t *testing.T) {
	on := func() ground {
		total, yes := int64(16<<30), true
		return ground{
			env: host.Environment{
				HostID: "h1", BootID: "b1",
				CPU: host.CPU{Arch: "amd64", Vendor: "V", Model: "M", Family: "6", ModelID: "1", Stepping: "2", Microcode: "0x1",
					Threads: 4, SMT: &yes, Turbo: &yes, Mitigations: map[string]string{"meltdown": "PTI"},
					Policies: []host.Policy{{CPUs: "0-3", Governor: "performance"}}},
				Virt:   host.Virtualization{Role: host.BareMetal},
				Memory: host.Memory{Total: &total, THP: "always"},
				Kernel: host.Kernel{Release: "6.12", Build: "#1", Cmdline: "quiet"},
				Clock:  host.Clock{Source: "tsc"},
			},
			image:   image.Manifest{Key: "k1", DiskSHA256: "d1"},
			systems: []System{{Name: "lxc", Versions: map[string]string{"lxc-start": "5.0"}}, {Name: "kvm"}},
			version: "1",
		}
	}
	no, little, bitLess := false, int64(8<<30), int64(16<<30-1<<20)
	for name, c := range map[string]struct {
		change           func(*ground)
		refused, changed string // what they say; "": nothing
	}{
		"nothing":          {func(g *ground) {}, "", ""},
		"host":             {func(g *ground) { g.env.HostID = "h2" }, "another machine", ""},
		"kernel":           {func(g *ground) { g.env.Kernel.Release = "6.13" }, "kernel: 6.12 before, 6.13 now", ""},
		"CPU model":        {func(g *ground) { g.env.CPU.Model = "N" }, "CPU: ", ""},
		"CPU stepping":     {func(g *ground) { g.env.CPU.Stepping = "3" }, "CPU: ", ""},
		"number of CPUs":   {func(g *ground) { g.env.CPU.Threads = 2 }, "number of CPUs: 4 before, 2 now", ""},
		"memory":           {func(g *ground) { g.env.Memory.Total = &little }, "memory: ", ""},
		"a bit of memory":  {func(g *ground) { g.env.Memory.Total = &bitLess }, "", ""},
		"memory not known": {func(g *ground) { g.env.Memory.Total = nil }, "", ""},
		"hypervisor":       {func(g *ground) { g.env.Virt.Role, g.env.Virt.Of = host.InGuest, "kvm" }, "hypervisor", ""},
		"image":            {func(g *ground) { g.image.Key = "k2" }, "userland image: ", ""},
		"content of image": {func(g *ground) { g.image.DiskSHA256 = "d2" }, "content of the userland image", ""},
		"boot":             {func(g *ground) { g.env.BootID = "b2" }, "", "boot of the host"},
		"tare":             {func(g *ground) { g.version = "2" }, "", "version of tare"},
		"microcode":        {func(g *ground) { g.env.CPU.Microcode = "0x2" }, "", `microcode: "0x1" before, "0x2" now`},
		"kernel build":     {func(g *ground) { g.env.Kernel.Build = "#2" }, "", "build of the kernel"},
		"boot parameters":  {func(g *ground) { g.env.Kernel.Cmdline = "" }, "", "boot parameters"},
		"mitigations":      {func(g *ground) { g.env.CPU.Mitigations = nil }, "", "mitigations"},
		"SMT":              {func(g *ground) { g.env.CPU.SMT = &no }, "", "SMT"},
		"turbo":            {func(g *ground) { g.env.CPU.Turbo = &no }, "", "turbo"},
		"governor":         {func(g *ground) { g.env.CPU.Policies = nil }, "", "governors"},
		"huge pages":       {func(g *ground) { g.env.Memory.THP = "never" }, "", "huge pages"},
		"clock":            {func(g *ground) { g.env.Clock.Source = "hpet" }, "", "clock source"},
		"runtime": {func(g *ground) {
			g.systems[0].Versions = map[string]string{"lxc-start": "6.0"}
		}, "", "versions of lxc"},
		"runtime not known": {func(g *ground) { g.systems = nil }, "", ""},
	} {
		now := on()
		c.change(&now)
		refused, changed := on().difference(now, false)
		if (refused == "") != (c.refused == "") || !strings.Contains(refused, c.refused) {
			t.Errorf("%s: refused %q", name, refused)
		}
		all := strings.Join(changed, "; ")
		if (all == "") != (c.changed == "") || !strings.Contains(all, c.changed) || len(changed) > 1 {
			t.Errorf("%s: changed %q", name, changed)
		}
	}
	now := on()
	now.env.BootID = "b2"
	if refused, changed := on().difference(now, true); refused != "" || changed != nil {
		t.Errorf("another boot in a campaign with boots: %q, %q", refused, changed)
	}
}
