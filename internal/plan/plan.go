// Package plan says in which order a campaign's trials run and when it has had
// enough of them. It is pure: a seed in, a schedule out. What happened so far
// comes in as arguments, and nothing is read or written, so that a run that
// crashed goes on with the very schedule that it had.
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
	// RecreateEvery is how many blocks the guests live; 0: the whole run.
	RecreateEvery int
	Rule          Rule
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
	}
	for _, w := range c.Workloads {
		p.Workloads = append(p.Workloads, w.Series())
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
	Block    int // from 0
	Workload string
	Arm      string // name
}

// Trial is one execution of a workload in an arm's guest or, at once, guests.
type Trial struct {
	ID
	Position int // in its block, from 0
}

// Trials is the number of trials in a block.
func (p *Plan) Trials() int { return len(p.Arms) * len(p.Workloads) }

// Block returns the trials of block b (from 0) in their order: the workloads
// in random order, and for each of them every arm once, in random order. The
// arms of one workload stand next to each other in time, so that the pairs
// that analysis forms within a block see the same drift of the machine.
//
// The order follows from the seed, b and the names of the arms and workloads
// alone: not from the blocks before, nor from the order of the file. It is
// part of tare's format, as runs are resumed by later versions, and a golden
// test holds it.
func (p *Plan) Block(b int) []Trial {
	d := newDraw(p.Seed, "tare plan 1\x00", b)
	workloads := slices.Sorted(slices.Values(p.Workloads))
	arms := make([]string, len(p.Arms))
	for i, a := range p.Arms {
		arms[i] = a.Name
	}
	slices.Sort(arms)

	trials := make([]Trial, 0, p.Trials())
	shuffle(d, workloads)
	for _, w := range workloads {
		order := slices.Clone(arms)
		shuffle(d, order)
		for _, a := range order {
			trials = append(trials, Trial{ID{b, w, a}, len(trials)})
		}
	}
	return trials
}

// Remaining returns, in their order, the trials of block b that are not done.
func (p *Plan) Remaining(b int, done func(ID) bool) []Trial {
	return slices.DeleteFunc(p.Block(b), func(t Trial) bool { return done(t.ID) })
}

// Resume returns the first of the blocks 0 to n-1 that has trials left, and
// those trials. It returns n and no trials when all are done.
func (p *Plan) Resume(n int, done func(ID) bool) (int, []Trial) {
	for b := range n {
		if left := p.Remaining(b, done); len(left) > 0 {
			return b, left
		}
	}
	return n, nil
}

// Epoch is the incarnation of the guests, from 0, that runs block b: all
// guests are created anew where it changes.
func (p *Plan) Epoch(b int) int {
	if p.RecreateEvery <= 0 {
		return 0
	}
	return b / p.RecreateEvery
}

// Epochs is how many times n blocks create the guests.
func (p *Plan) Epochs(n int) int {
	if n <= 0 {
		return 0
	}
	return p.Epoch(n-1) + 1
}
