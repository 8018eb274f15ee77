package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// Machine is what the repetition of an article needs to know about this machine.
type Machine struct {
	CPUs   int
	Memory int64 // bytes, 0: not known
	// Usable returns why a system is not usable here, in one line; "": it is usable.
	Usable func(system string) string
	// Supports reports whether guests of a system can have that network, or that backing of their disk; nil: all can.
	Supports func(system, what string) bool
}

func (m Machine) supports(system, what string) bool {
	return m.Supports == nil || m.Supports(system, what)
}

// guests returns the number of guests of a parallel scenario. Like the article, it
// leaves one CPU to the host if there are enough.
func (m Machine) guests() int { return max(2, m.CPUs-1) }

// pairs returns the number of pairs of a network scenario.
func (m Machine) pairs() int { return max(1, m.guests()/2) }

// wholes returns how many guests of a mix have a whole CPU: in the article, 3 on 7
// CPUs. Guests with a quarter of a CPU share the others.
func (m Machine) wholes() int   { return max(1, m.guests()*3/7) }
func (m Machine) quarters() int { return 4 * (m.guests() - m.wholes()) }

// quarterPairs returns how many pairs with a quarter of a CPU run beside one pair with
// whole CPUs. As in the article (8 pairs on 7 CPUs), one of the guests' CPUs stays free.
func (m Machine) quarterPairs() int { return max(1, 2*(m.guests()-3)) }

// memory returns each guest's memory: as much as the largest scenario permits.
func (m Machine) memory() int64 {
	const least, most = 256 << 20, 512 << 20
	if m.Memory == 0 {
		return least
	}
	fits := m.Memory / 2 / int64(4*m.guests()+2)
	return max(least, min(most, fits>>26<<26))
}

const (
	wholeFlavor   = "whole"
	quarterFlavor = "quarter"
)

// scenario is a scenario of articles, which is scaled to a machine's CPUs.
type scenario struct {
	name  string
	wired bool // its guests are on a network
	mixed bool // some of its guests have a quarter of a CPU
	on    func(m Machine) campaign.Scenario
	note  func(m Machine) string // how it differs from the article; nil: not at all
}

var scenarios = []scenario{
	{name: model.Solo, on: func(Machine) campaign.Scenario { return campaign.Scenario{} }},
	{
		name: "parallel",
		on:   func(m Machine) campaign.Scenario { return campaign.Scenario{Guests: m.guests()} },
		note: func(m Machine) string {
			return fmt.Sprintf("7 in parallel: here %d, on this machine's %d CPUs", m.guests(), m.CPUs)
		},
	},
	{
		name: "crowd", mixed: true,
		on: func(m Machine) campaign.Scenario {
			return campaign.Scenario{Mix: []campaign.Part{{Flavor: quarterFlavor, Guests: 4 * m.guests()}}}
		},
		note: func(m Machine) string {
			return fmt.Sprintf("28 in parallel: here %d guests with a quarter of a CPU", 4*m.guests())
		},
	},
	{
		name: "mixed", mixed: true,
		on: func(m Machine) campaign.Scenario {
			return campaign.Scenario{Mix: []campaign.Part{{Flavor: quarterFlavor, Guests: m.quarters()},
				{Flavor: wholeFlavor, Guests: m.wholes()}}}
		},
		note: func(m Machine) string {
			return fmt.Sprintf("16+3: here %d guests with a quarter of a CPU, and %d with a whole CPU", m.quarters(), m.wholes())
		},
	},
	{
		name: "pairs", wired: true,
		on:   func(m Machine) campaign.Scenario { return campaign.Scenario{Pairs: m.pairs()} },
		note: func(m Machine) string { return fmt.Sprintf("3 pairs over the network: here %d", m.pairs()) },
	},
	{
		name: "unequal", wired: true, mixed: true,
		on: func(m Machine) campaign.Scenario {
			return campaign.Scenario{Mix: []campaign.Part{{Flavor: wholeFlavor, Pairs: 1},
				{Flavor: quarterFlavor, Pairs: m.quarterPairs()}}}
		},
		note: func(m Machine) string {
			return fmt.Sprintf("1 pair 1/1 and 8 pairs 1/4: here 1 pair of guests with a whole CPU, and %d with a quarter "+
				"of a CPU", m.quarterPairs())
		},
	},
	// One guest, and this host in place of another machine.
	{name: "out", wired: true, on: func(Machine) campaign.Scenario {
		return campaign.Scenario{Pairs: 1, Server: campaign.End{On: campaign.OnHost}}
	}},
	{name: "in", wired: true, on: func(Machine) campaign.Scenario {
		return campaign.Scenario{Pairs: 1, Client: campaign.End{On: campaign.OnHost}}
	}},
}

// scenarioOf returns the scenario of that name, which is one of scenarios.
func scenarioOf(name string) scenario {
	return scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })]
}

var scenarioKind = func() strict.Kind[string] {
	var names []string
	for _, c := range scenarios {
		names = append(names, c.name)
	}
	return strict.OneOf(names...)
}()

const (
	repeatTrial = 300 * time.Millisecond // of a native guest, without a scale
	// cappedTrial is that of a guest with a quarter of a CPU: a cap is enforced in periods of 100 ms, and lets a short
	// burst pass, so that short trials do not meet it.
	cappedTrial = 10 * time.Second
	repeatDisk  = 2 * campaign.GiB
	// leastTimeout is the shortest timeout of a step, however small the budget is.
	leastTimeout = 90 * time.Second
)

// CampaignName returns the name of a stage's campaign.
func (r *Repetition) CampaignName(s Stage) string { return r.Article.Document.Name + "-" + s.Name }

// Campaign returns the campaign file of a stage.
func (r *Repetition) Campaign(s Stage, budget time.Duration) []byte {
	c := campaign.New()
	c.Name, c.About = r.CampaignName(s), "tare paper run: "+r.Article.Document.Title
	whole := campaign.NewFlavor(wholeFlavor)
	arms := r.armsOf(s.stage)
	whole.MemoryBytes, whole.DiskBytes, whole.DiskFS = r.memoryOf(arms[0]), int64(repeatDisk), r.Article.recipe.fs
	if s.stage.wired() {
		whole.Network = model.NetworkBridged
	}
	c.Flavors = []model.Flavor{whole}
	if s.stage.mixed() {
		quarter := whole
		quarter.Name, quarter.CPUCap = quarterFlavor, 0.25
		c.Flavors, c.AllowUnequal = append(c.Flavors, quarter), true
	}
	for _, a := range arms {
		one := campaign.Arm{System: a.system, Target: r.options.Targets[a.system], Options: a.own.options}
		if a.name != a.system {
			one.Name = a.name
		}
		if a.own.given() {
			f := r.flavorOf(a, whole)
			one.Flavor, c.AllowUnequal = f.Name, true
			c.Flavors = append(c.Flavors, f)
		}
		c.Arms = append(c.Arms, one)
	}
	c.Baseline = r.Base
	for _, w := range s.stage.work {
		c.Workloads = append(c.Workloads, campaign.Workload{
			Name: w.of.Workload, Params: w.of.Params, Size: r.size(s.stage, w),
		})
	}
	c.Scenarios = nil
	for _, name := range s.stage.scenarios {
		scenario := scenarioOf(name).on(r.machine)
		scenario.Name = name
		if far := r.options.Partner; far.Elsewhere() && scenario.Pairs == 1 {
			if scenario.Server.Given() {
				scenario.Server, c.Uplink = far, r.options.Uplink
			} else if scenario.Client.Given() {
				scenario.Client, c.Uplink = far, r.options.Uplink
			}
		}
		c.Scenarios = append(c.Scenarios, scenario)
	}
	// One image for all campaigns of the article.
	c.Image = campaign.Image{Kernel: campaign.KernelCloud, AlsoFor: r.workloads()}
	c.TrialTime = s.stage.trialTime()
	c.Blocks = campaign.Blocks{Min: 2, Max: 20}
	if slices.ContainsFunc(r.Article.recipe.claims, func(m measuredClaim) bool {
		return m.stage == s.Name && m.direct()
	}) {
		c.RecreateEvery = 1 // the interval of such a claim is over guests
	}
	c.EmulatedShare = 100 // emulated guests take the place of the article's systems
	c.Budget = max(time.Second, budget.Truncate(time.Second))
	// A step may take half of the budget. A longer timeout would let a crowded scenario
	// wait for several such steps.
	c.Timeout = max(leastTimeout, (budget / 2).Truncate(time.Second))
	return c.File()
}

// trialTime is how long a trial of the baseline's first guest lasts. In a mix, that guest has a quarter of a CPU.
func (s stage) trialTime() time.Duration {
	switch {
	case !s.mixed():
		return repeatTrial
	case scenarioOf(s.scenarios[0]).mixed && !scenarioOf(s.scenarios[0]).wired:
		return cappedTrial
	}
	return cappedTrial / 4
}

// size returns the size of a trial; 0: tare calibrates it.
func (r *Repetition) size(s stage, w work) int64 {
	scale := cmp.Or(r.options.Scale, s.scale)
	if w.size == 0 || scale == 0 {
		return 0
	}
	return max(w.workload.MinSize, min(w.workload.MaxSize, int64(math.Round(float64(w.size)*scale))))
}

// workloads returns the names of all workloads.
func (r *Repetition) workloads() []string {
	var names []string
	for _, s := range r.Stages {
		for _, w := range s.stage.work {
			if name := w.of.Workload; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
