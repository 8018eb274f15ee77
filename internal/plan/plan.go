// Package plan says in which order a campaign's trials run, where the next
// second of measuring resolves most, and when there is enough. It is pure: a
// seed and what happened so far in, the next pass out. Nothing is read or
// written. A run keeps the passes that it began, so that a run which crashed goes
// on with the very schedule that it had, whatever a later tare would plan.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// Arm is one side of the comparison: an arm of the campaign, or the A/A
// control, under one scenario.
type Arm struct {
	Name string // "lxc", under a scenario other than solo "lxc@four"
	// Of is the arm without its scenario: whose guests these are.
	Of       string
	Scenario string
	System   string
	Flavor   campaign.Flavor
	// Target and Options are the campaign's, for the system.
	Target  string
	Options []campaign.Setting
	Boot    string // of the host; "" in a plan without boots
	// Baseline says that the other arms of the scenario are compared with this one.
	Baseline bool
	// Control names the arm that this is the A/A control of: second, separate
	// guests that are just like the baseline's. Their difference is noise. "":
	// it is no control.
	Control string
	// Alone names the arm that says how this one does without company; "":
	// it has none, or none is there.
	Alone string
	// MemoryLeft is how much memory the host must have left with the crew, which
	// is then all guests that there are; 0: it is not asked.
	MemoryLeft campaign.Bytes
	// Crew is who takes part in a trial: first those that run the workload,
	// then as many that serve them, if they are pairs, then the neighbours, and
	// last who answers those that stress the network.
	Crew []Member
}

// Member is one guest of a crew.
type Member struct {
	Seat
	Flavor campaign.Flavor
	Stress string // the resource that it stresses, Serving or Answering; "": it runs the workload
}

// What stands for a resource where a member stresses none.
const (
	// Serving: it is the serving side of the workload that its partner runs.
	Serving = "serving"
	// Answering: it is the host's end for a neighbour that stresses the network.
	Answering = "answering"
)

// Seat is the place of one guest. The scenarios of an arm share its guests: its
// first is the one that runs alone, and the first of four.
type Seat struct {
	Of        string // arm, without the scenario
	Flavor    string
	Neighbour bool
	// Partner says that it is an end of pairs that is unlike the arm's guests:
	// of another flavor or, with Host, processes of the host.
	Partner, Host bool
	Slot          int // among those of this arm, flavor and role, from 0
}

// Plan is the schedule of one campaign.
type Plan struct {
	Campaign  string // name
	Seed      uint64
	Arms      []Arm    // by scenario, each in the order of the campaign, the A/A control last
	Workloads []string // their series, in the order of the campaign
	Skipped   []campaign.Arm
	Scenarios []campaign.Scenario
	Boots     []campaign.Boot // see Next; none: the host stays as it is
	TrialTime time.Duration
	// RecreateEvery is how many passes the guests live; 0: the whole run;
	// campaign.Auto: as NextPass finds best.
	RecreateEvery int
	Rule          Rule
	// Emulated names the systems whose times say nothing, on a host where the
	// baseline's do. EmulatedShare is how much of the run's time they may take,
	// from 0 to 1.
	Emulated      map[string]bool
	EmulatedShare float64

	programs map[string]string // workload by series
}

// New plans a campaign.
func New(c *campaign.Campaign) *Plan {
	p := &Plan{
		Campaign:      c.Name,
		Seed:          c.Seed,
		Arms:          Arms(c),
		Skipped:       c.Skipped(),
		Scenarios:     c.Scenarios,
		Boots:         c.Boots,
		TrialTime:     c.TrialTime,
		RecreateEvery: c.RecreateEvery,
		Rule:          RuleOf(c),
		EmulatedShare: c.EmulatedShare.Fraction(),
		programs:      map[string]string{},
	}
	for _, w := range c.Workloads {
		p.Workloads = append(p.Workloads, w.Series())
		p.programs[w.Series()] = w.Name
	}
	return p
}

// Arms expands the campaign: for each scenario its arms that are not left out,
// and last the A/A control, which is named after the baseline.
func Arms(c *campaign.Campaign) []Arm {
	var arms []Arm
	for _, s := range c.Scenarios {
		var control Arm
		for _, a := range c.Active() {
			if a.Target != "" && !s.Alone() {
				continue // a machine of which there is one
			}
			flavor, _ := c.Flavor(a.Flavor)
			arm := Arm{
				Name: campaign.ArmIn(a.Name, s.Name), Of: a.Name, Scenario: s.Name, System: a.System, Flavor: flavor,
				Target: a.Target, Options: a.Options, Boot: a.Boot, Baseline: a.Name == c.Baseline,
				MemoryLeft: s.MemoryLeft,
			}
			arm.Crew = crew(c, arm, s)
			arm.Alone = aloneOf(c, a.Name, s)
			arms = append(arms, arm)
			if arm.Baseline {
				control = arm
				control.Of = controlName(c)
				control.Name, control.Baseline, control.Control = campaign.ArmIn(control.Of, s.Name), false, arm.Name
				control.Crew, control.Alone = crew(c, control, s), aloneOf(c, control.Of, s)
			}
		}
		if control.Name != "" { // else it is not a campaign that Parse made
			arms = append(arms, control)
		}
	}
	return arms
}

// aloneOf is what an arm is called without the company that it has under a
// scenario, if the campaign has that: in solo, or as the only pair.
func aloneOf(c *campaign.Campaign, arm string, s campaign.Scenario) string {
	for _, o := range c.Scenarios {
		if s.Paired() && !s.OnePair() && o.OnePair() && s.SameEnds(o) || !s.Paired() && !s.Alone() && o.Alone() {
			return campaign.ArmIn(arm, o.Name)
		}
	}
	return ""
}

// crew lists who takes part in a trial of an arm under a scenario.
func crew(c *campaign.Campaign, a Arm, s campaign.Scenario) []Member {
	parts := s.Mix
	if len(parts) == 0 {
		parts = []campaign.Part{{Flavor: a.Flavor.Name, Guests: max(s.Guests, 1), Pairs: s.Pairs}}
	}
	seats := map[Seat]int{} // taken, by kind of seat
	sit := func(kind Seat) Member {
		kind.Of = a.Of
		flavor, _ := c.Flavor(kind.Flavor)
		slot := seats[kind]
		seats[kind]++
		kind.Slot = slot
		return Member{Seat: kind, Flavor: flavor}
	}
	var all, serve []Member
	for _, part := range parts {
		kind := Seat{Flavor: part.Flavor}
		client, server := kind, kind
		switch {
		case part.Pairs == 0:
		case s.Client == campaign.OnHost:
			client.Partner, client.Host = true, true
		case s.Server != (campaign.End{}):
			server.Partner, server.Host = true, s.Server.On == campaign.OnHost
			server.Flavor = cmp.Or(s.Server.Flavor, part.Flavor)
		}
		for range max(part.Guests, part.Pairs) {
			all = append(all, sit(client))
		}
		for range part.Pairs {
			m := sit(server)
			m.Stress = Serving
			serve = append(serve, m)
		}
	}
	all = append(all, serve...)
	for _, resource := range s.Neighbours {
		m := sit(Seat{Flavor: a.Flavor.Name, Neighbour: true})
		m.Stress = resource
		all = append(all, m)
	}
	if a.Flavor.OnBridge() {
		for range s.Talking() {
			m := sit(Seat{Flavor: a.Flavor.Name, Neighbour: true, Partner: true, Host: true})
			m.Stress = Answering
			all = append(all, m)
		}
	}
	return all
}

// controlName is <baseline>-control, or that with a number where an arm of the
// campaign has the name already. Left-out arms keep their names, so that the
// control's does not depend on what is usable.
func controlName(c *campaign.Campaign) string {
	name := c.Baseline + "-control"
	for i := 2; ; i++ {
		if _, taken := c.Arm(name); !taken {
			return name
		}
		name = fmt.Sprintf("%s-control-%d", c.Baseline, i)
	}
}

// Guests returns the seats of all guests that the plan needs, each once.
func (p *Plan) Guests() []Member {
	var all []Member
	seen := map[Seat]bool{}
	for _, a := range p.Arms {
		for _, m := range a.Crew {
			if !seen[m.Seat] {
				seen[m.Seat] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// ID identifies a trial within a run.
type ID struct {
	Block    int // of its workload, from 0
	Workload string
	Arm      string // name
}

// Group is one block of one workload: each arm that takes part runs it once,
// one right after the other, so that the pairs which analysis forms within the
// block see the same drift of the machine.
type Group struct {
	Workload string   `json:"workload"`
	Block    int      `json:"block"` // of this workload, from 0
	Arms     []string `json:"arms"`  // in the order of their trials
	// Warmup is the arm whose trial begins the group and is discarded: the first
	// trial of a workload is slower, whichever arm makes it. "": there is none.
	Warmup string `json:"warmup,omitempty"`
	// Repeat is the arm whose trial is made twice without freezing its guest in
	// between, which shows what a thaw costs the trial after it. "": none.
	Repeat string `json:"repeat,omitempty"`
}

// Trials returns the IDs of the group's counted trials, in their order.
func (g Group) Trials() []ID {
	ids := make([]ID, len(g.Arms))
	for i, a := range g.Arms {
		ids[i] = ID{g.Block, g.Workload, a}
	}
	return ids
}

// Remaining returns the group with the arms whose trials are not done.
func (g Group) Remaining(done func(ID) bool) Group {
	g.Arms = slices.DeleteFunc(slices.Clone(g.Arms), func(a string) bool { return done(ID{g.Block, g.Workload, a}) })
	return g
}

// ArmsOf returns the arms that run a workload: those of the scenarios that have it.
func (p *Plan) ArmsOf(series string) []Arm {
	return slices.DeleteFunc(slices.Clone(p.Arms), func(a Arm) bool {
		i := slices.IndexFunc(p.Scenarios, func(s campaign.Scenario) bool { return s.Name == a.Scenario })
		return i >= 0 && !p.Scenarios[i].Runs(p.programs[series])
	})
}

// every is in how many of a workload's blocks the scenario of an arm takes part once.
func (p *Plan) every(a Arm) int {
	for _, s := range p.Scenarios {
		if s.Name == a.Scenario {
			return max(s.Every, 1)
		}
	}
	return 1
}

// group draws the order of one block: it follows from the seed, the workload,
// the block and the names of the arms alone.
func (p *Plan) group(series string, block int, arms []string) Group {
	g := Group{Workload: series, Block: block, Arms: slices.Sorted(slices.Values(arms))}
	shuffle(newDraw(p.Seed, "tare group 1\x00"+series+"\x00", block), g.Arms)
	return g
}

// arm returns the arm of that name.
func (p *Plan) arm(name string) Arm {
	i := slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Name == name })
	return p.Arms[i]
}

// baseline returns the baseline of the first scenario.
func (p *Plan) baseline() Arm {
	return p.Arms[slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Baseline })]
}
