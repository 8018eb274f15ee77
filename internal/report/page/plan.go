package page

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// planView is the plan of the run.
type planView struct {
	YAML    string
	Arms    []planArm
	LeftOut []report.Named
	Rules   [][2]string
}

type planArm struct {
	store.Arm
	Size string
	// Confined is what confines its guests, as the kernel reported it; "" where it does not.
	Confined string
	Guests   int
	Start    string // mean time until the agent answered
}

func planOf(r *store.Run, c *campaign.Campaign, ctx report.Context, d *data) planView {
	p := planView{LeftOut: ctx.LeftOut}
	if yaml, err := r.Document(store.DocCampaignYAML); err == nil {
		p.YAML = string(yaml)
	}
	for _, a := range d.arms {
		pa := planArm{Arm: a, Size: flavorText(a.Flavor)}
		var start float64
		for _, g := range d.guests {
			if g.Arm == a.Name {
				pa.Guests++
				start += float64(g.StartNS) / 1e9
				if c := g.Flavor.Confinement; c != nil && !g.Neighbour && g.Flavor.System == "" {
					pa.Confined = c.String()
				}
			}
		}
		if pa.Guests > 0 {
			pa.Start = report.Digits(start/float64(pa.Guests), 3) + " s"
		}
		p.Arms = append(p.Arms, pa)
	}
	blocks := fmt.Sprint(c.Blocks.Max)
	if !c.Blocks.Fixed() {
		blocks = fmt.Sprintf("%d to %d", c.Blocks.Min, c.Blocks.Max)
	}
	rule := func(name, text string) { p.Rules = append(p.Rules, [2]string{name, text}) }
	rule("Blocks", blocks+" of each workload; in a block all arms run it one right after the other, in a new random "+
		"order, drawn from the seed")
	if c.Precision > 0 {
		rule("Precision", fmt.Sprintf("± %.3g %%, checked during the run (Chow and Robbins): a workload ends when its "+
			"interval is that narrow, never because something is significant", 100*c.Precision.Fraction()))
	}
	if c.Budget > 0 {
		rule("Budget", c.Budget.String())
	}
	for _, s := range ctx.Scenarios {
		rule("Scenario "+s.Name, s.Text)
	}
	switch {
	case c.RecreateEvery > 0:
		rule("Guests", fmt.Sprintf("re-created every %d passes through the workloads", c.RecreateEvery))
	case c.RecreateEvery == campaign.Auto:
		rule("Guests", "re-created as often as makes the intervals narrowest in the available time")
	}
	return p
}

func flavorText(f model.Flavor) string {
	var parts []string
	if f.VCPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d vCPU", f.VCPUs))
	}
	for _, b := range []struct {
		n    int64
		what string
	}{{f.MemoryBytes, "memory"}, {f.DiskBytes, "disk"}} {
		if b.n > 0 {
			sc := report.ScaleFor("B", float64(b.n))
			parts = append(parts, fmt.Sprintf("%.4g %s %s", float64(b.n)*sc.Factor, sc.Unit, b.what))
		}
	}
	if f.CPUCap > 0 {
		parts = append(parts, fmt.Sprintf("capped at %.3g CPU", f.CPUCap))
	}
	if len(f.CPUs) > 0 {
		parts = append(parts, "on CPU "+f.CPUs.String())
	}
	if f.Backing != "" && f.Backing != model.BackingLoop {
		parts = append(parts, "data on "+f.Backing)
	}
	return strings.Join(append(parts, campaign.Extras(f)...), ", ")
}
