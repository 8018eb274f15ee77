// Package plan decides the order of a campaign's trials, where measuring time
// narrows the intervals most, and when a run has enough blocks. It is pure: from
// a seed and the state of the run it computes the next pass, and reads or writes
// nothing. A run records the passes that it begins, so that a resumed run keeps
// its schedule even if a later tare would plan another.
package plan

import (
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
)

// Plan is the schedule of one campaign.
type Plan struct {
	Campaign  string // name
	Seed      uint64
	Arms      []campaign.PlannedArm // by scenario, each in the order of the campaign, the A/A control last
	Workloads []string              // series of the workloads, in the order of the campaign
	Skipped   []campaign.Arm
	Scenarios []campaign.Scenario
	Boots     []campaign.Boot // see NextInBoots; none: the host is not rebooted
	TrialTime time.Duration
	// RecreateEvery is the number of passes after which guests are re-created; 0: never;
	// campaign.Auto: NextPass decides.
	RecreateEvery int
	Rule          Rule
	// Emulated is the set of emulated systems, if the baseline is not emulated:
	// their times say nothing about hardware. EmulatedShare is the most that they
	// may take of the run's time, from 0 to 1.
	Emulated      map[string]bool
	EmulatedShare float64
	// DuetShare is the share of the run's time for duets, from 0 to below 1. Computes is the set of workloads, by
	// series, whose cost is CPU time, and Elsewhere the set of systems whose CPU time is not that of the host's CPUs.
	DuetShare float64
	Computes  map[string]bool
	Elsewhere map[string]bool

	programs map[string]string // workload by series
}

// New plans a campaign with the arms that it is expanded to: those of
// campaign.Planned, or those that a run was begun with.
func New(c *campaign.Campaign, arms []campaign.PlannedArm) *Plan {
	p := &Plan{
		Campaign:      c.Name,
		Seed:          c.Seed,
		Arms:          arms,
		Skipped:       c.Skipped(),
		Scenarios:     c.Scenarios,
		Boots:         c.Boots,
		TrialTime:     c.TrialTime,
		RecreateEvery: c.RecreateEvery,
		Rule:          RuleOf(c),
		EmulatedShare: c.EmulatedShare.Fraction(),
		DuetShare:     c.Duets.Fraction(),
		programs:      map[string]string{},
	}
	for _, w := range c.Workloads {
		p.Workloads = append(p.Workloads, w.Series())
		p.programs[w.Series()] = w.Name
	}
	return p
}

// Guests returns all guests of the plan, each once.
func (p *Plan) Guests() []campaign.PlannedGuest {
	var all []campaign.PlannedGuest
	seen := map[model.GuestID]bool{}
	for _, a := range p.Arms {
		for _, g := range a.Guests {
			if !seen[g.GuestID] {
				seen[g.GuestID] = true
				all = append(all, g)
			}
		}
	}
	return all
}

// Group is one block of one workload: each arm that takes part runs it once, one
// right after the other. The analysis pairs trials within the block, as they see
// the same drift of the machine.
type Group struct {
	Workload string   `json:"workload"`
	Block    int      `json:"block"` // of this workload, from 0
	Arms     []string `json:"arms"`  // in the order of their trials
	// Duet: the arms run the workload at once. Blocks of duets are counted apart.
	Duet bool `json:"duet,omitempty"`
	// Warmup is the arm of the discarded first trial: the first trial of a
	// workload is slower in any arm. "": there is none. See After.
	Warmup string `json:"warmup,omitempty"`
	// Repeat is the arm that makes its trial twice without freezing the guest in
	// between, which shows how much a thaw costs the next trial. "": none.
	Repeat string `json:"repeat,omitempty"`
}

// Trials returns the IDs of the group's counted trials, in their order.
func (g Group) Trials() []model.TrialID {
	ids := make([]model.TrialID, len(g.Arms))
	for i, a := range g.Arms {
		ids[i] = model.TrialID{Block: g.Block, Workload: g.Workload, Arm: a, Duet: g.Duet}
	}
	return ids
}

// Remaining returns the group without the trials that are done. A duet is done when any of its arms is: all of them
// are journaled together, and one that failed alone leaves the others their result.
func (g Group) Remaining(done func(model.TrialID) bool) Group {
	if g.Duet {
		if slices.ContainsFunc(g.Trials(), done) {
			g.Arms = nil
		}
		return g
	}
	g.Arms = slices.DeleteFunc(slices.Clone(g.Arms),
		func(a string) bool { return done(model.TrialID{Block: g.Block, Workload: g.Workload, Arm: a}) })
	return g
}

// After returns the group as it is made right after another one: without a warm-up
// if that ran the same workload.
func (g Group) After(before Group) Group {
	if before.Workload == g.Workload && !before.Duet {
		g.Warmup = ""
	}
	return g
}

// ArmsOf returns the arms that run a workload, which are those of the scenarios
// that include it.
func (p *Plan) ArmsOf(series string) []campaign.PlannedArm {
	return slices.DeleteFunc(slices.Clone(p.Arms), func(a campaign.PlannedArm) bool {
		i := slices.IndexFunc(p.Scenarios, func(s campaign.Scenario) bool { return s.Name == a.Scenario })
		return i >= 0 && !p.Scenarios[i].Runs(p.programs[series])
	})
}

// every is n if the scenario of an arm takes part in every n-th block.
func (p *Plan) every(a campaign.PlannedArm) int {
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
func (p *Plan) arm(name string) campaign.PlannedArm {
	i := slices.IndexFunc(p.Arms, func(a campaign.PlannedArm) bool { return a.Name == name })
	return p.Arms[i]
}

// baseline returns the baseline of the first scenario.
func (p *Plan) baseline() campaign.PlannedArm {
	return p.Arms[slices.IndexFunc(p.Arms, func(a campaign.PlannedArm) bool { return a.Baseline })]
}
