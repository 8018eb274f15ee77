// Package plan decides the order of a campaign's trials, where measuring time
// narrows the intervals most, and when a run has enough blocks. It is pure: from
// a seed and the state of the run it computes the next pass, and reads or writes
// nothing. A run records the passes that it begins, so that a resumed run keeps
// its schedule even if a later tare would plan another.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// Arm is an arm of the campaign, or the A/A control, in one scenario.
type Arm struct {
	Name string // "lxc", or "lxc@four" in a scenario other than solo
	// Of is the arm without its scenario. Arms with the same Of share guests.
	Of       string
	Scenario string
	System   string
	Flavor   campaign.Flavor
	// Target and Options are settings of the campaign for the system.
	Target  string
	Options []campaign.Setting
	Boot    string // of the host; "" in a plan without boots
	// Baseline: the other arms of the scenario are compared with this one.
	Baseline bool
	// Control is the arm of which this one is the A/A control: it has separate
	// guests that are identical to the baseline's, so that any difference is
	// noise. "": this arm is no control.
	Control string
	// Alone is the arm with the same guests in a scenario without others at the
	// same time, for comparison; "": the campaign has none, or this arm itself
	// is alone.
	Alone string
	// MemoryLeft is how much memory the host must have available with the crew
	// running and no other guests, in bytes; 0: no limit.
	MemoryLeft campaign.Bytes
	// Crew is the guests of a trial: first those that run the workload, then as
	// many that serve them, if they are pairs, then the neighbours, and last the
	// host's ends that answer neighbours on the network.
	Crew []Member
}

// Member is one guest of a crew.
type Member struct {
	Seat
	Flavor campaign.Flavor
	Stress string // the resource that it loads, Serving or Answering; "": it runs the workload
}

// Values of Member.Stress other than resources.
const (
	// Serving: the member is the server of the workload that its partner runs.
	Serving = "serving"
	// Answering: the member is the host's end for a neighbour on the network.
	Answering = "answering"
)

// Seat is the role of one guest within a plan. The scenarios of an arm share its
// guests: the first one runs alone in solo, and is the first of four.
type Seat struct {
	Of        string // arm, without the scenario
	Flavor    string
	Neighbour bool
	// Partner: the guest is an end of pairs that differs from the arm's guests:
	// it has another flavor or, with Host, consists of processes on the host.
	Partner, Host bool
	Slot          int // number among the guests of this arm, flavor and role, from 0
}

// Plan is the schedule of one campaign.
type Plan struct {
	Campaign  string // name
	Seed      uint64
	Arms      []Arm    // by scenario, each in the order of the campaign, the A/A control last
	Workloads []string // series of the workloads, in the order of the campaign
	Skipped   []campaign.Arm
	Scenarios []campaign.Scenario
	Boots     []campaign.Boot // see NextInBoots; none: the host is not rebooted
	TrialTime time.Duration
	// RecreateEvery is after how many passes guests are re-created; 0: never;
	// campaign.Auto: NextPass decides.
	RecreateEvery int
	Rule          Rule
	// Emulated is the set of emulated systems, if the baseline is not emulated:
	// their times say nothing about hardware. EmulatedShare is the most that they
	// may take of the run's time, from 0 to 1.
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

// Arms expands the campaign: for each scenario, its arms that are not left out
// and then the A/A control, which is named after the baseline.
func Arms(c *campaign.Campaign) []Arm {
	var arms []Arm
	for _, s := range c.Scenarios {
		var control Arm
		for _, a := range c.Active() {
			if a.Target != "" && !s.Alone() {
				continue // there is only one such machine
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
		if control.Name != "" { // empty only if the campaign is not from Parse
			arms = append(arms, control)
		}
	}
	return arms
}

// aloneOf is the name of the arm in which the guests of an arm run without
// others: in solo, or as the only pair; "" if the campaign has none.
func aloneOf(c *campaign.Campaign, arm string, s campaign.Scenario) string {
	for _, o := range c.Scenarios {
		if s.Paired() && !s.OnePair() && o.OnePair() && s.SameEnds(o) || !s.Paired() && !s.Alone() && o.Alone() {
			return campaign.ArmIn(arm, o.Name)
		}
	}
	return ""
}

// crew lists the guests of a trial of an arm in a scenario.
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

// controlName is <baseline>-control, with a number if an arm of the campaign has
// that name. Arms that are left out count, so that the control's name does not
// depend on which systems are usable.
func controlName(c *campaign.Campaign) string {
	name := c.Baseline + "-control"
	for i := 2; ; i++ {
		if _, taken := c.Arm(name); !taken {
			return name
		}
		name = fmt.Sprintf("%s-control-%d", c.Baseline, i)
	}
}

// Guests returns all guests of the plan, one for each seat.
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
	Block    int // number of the workload's block, from 0
	Workload string
	Arm      string // name
}

// Group is one block of one workload: each arm that takes part runs it once, one
// right after the other. The analysis pairs trials within the block, as they see
// the same drift of the machine.
type Group struct {
	Workload string   `json:"workload"`
	Block    int      `json:"block"` // of this workload, from 0
	Arms     []string `json:"arms"`  // in the order of their trials
	// Warmup is the arm of the discarded first trial: the first trial of a
	// workload is slower in any arm. "": there is none. See After.
	Warmup string `json:"warmup,omitempty"`
	// Repeat is the arm that makes its trial twice without freezing the guest in
	// between, which shows how much a thaw costs the next trial. "": none.
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

// Remaining returns the group without the trials that are done.
func (g Group) Remaining(done func(ID) bool) Group {
	g.Arms = slices.DeleteFunc(slices.Clone(g.Arms), func(a string) bool { return done(ID{g.Block, g.Workload, a}) })
	return g
}

// After returns the group as it is made right after another one: without a warm-up
// if that ran the same workload.
func (g Group) After(before Group) Group {
	if before.Workload == g.Workload {
		g.Warmup = ""
	}
	return g
}

// ArmsOf returns the arms that run a workload, which are those of the scenarios
// that include it.
func (p *Plan) ArmsOf(series string) []Arm {
	return slices.DeleteFunc(slices.Clone(p.Arms), func(a Arm) bool {
		i := slices.IndexFunc(p.Scenarios, func(s campaign.Scenario) bool { return s.Name == a.Scenario })
		return i >= 0 && !p.Scenarios[i].Runs(p.programs[series])
	})
}

// every is n if the scenario of an arm takes part in every n-th block.
func (p *Plan) every(a Arm) int {
	for _, s := range p.Scenarios {
		if s.Name == a.Scenario {
			return max(s.Every, 1)
		}
	}
	return 1
}

// group draws the order of one block. It depends only on the seed, the workload,
// the block and the names of the arms.
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
