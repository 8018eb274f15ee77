package plan

import (
	"slices"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
)

// A campaign with boots runs in rounds. In each round the host boots once in
// every way, in random order, and each boot runs the same RecreateEvery blocks
// with the arms that belong to it. Guests are re-created every round: a generation
// is a round. Block b of one boot is paired with block b of the other. All pairs
// of a round share two boots, so the units of an interval are rounds.

// round returns the blocks [first, end) of a round; they are empty after the
// last round.
func (p *Plan) round(n int) (first, end int) {
	k := p.RecreateEvery
	return min(n*k, p.Rule.Max), min((n+1)*k, p.Rule.Max)
}

// bootOrder is the order of the boots in a round. The first round begins with
// the baseline's boot, in which the sizes are calibrated.
func (p *Plan) bootOrder(round int) []string {
	names := make([]string, len(p.Boots))
	for i, b := range p.Boots {
		names[i] = b.Name
	}
	slices.Sort(names)
	shuffle(newDraw(p.Seed, "tare boots 1\x00", round), names)
	if round == 0 {
		base := p.Arms[slices.IndexFunc(p.Arms, func(a campaign.PlannedArm) bool { return a.Baseline })].Boot
		i := slices.Index(names, base)
		names = slices.Concat(names[i:i+1], names[:i], names[i+1:])
	}
	return names
}

// NextInBoots returns, for a plan with boots, the next block with trials to do,
// the boot of the host that they need, and their groups. When all are done, it
// returns Rule.Max and no groups.
func (p *Plan) NextInBoots(done func(model.TrialID) bool) (block int, boot campaign.Boot, left []Group) {
	for round := 0; ; round++ {
		first, end := p.round(round)
		if first == end {
			return p.Rule.Max, campaign.Boot{}, nil
		}
		for _, name := range p.bootOrder(round) {
			for b := first; b < end; b++ {
				if left := p.inBoot(name, b, done); len(left) > 0 {
					i := slices.IndexFunc(p.Boots, func(b campaign.Boot) bool { return b.Name == name })
					return b, p.Boots[i], left
				}
			}
		}
	}
}

// inBoot is the groups of a block for the arms of one boot, without the trials
// that are done.
func (p *Plan) inBoot(boot string, block int, done func(model.TrialID) bool) (left []Group) {
	for _, g := range p.Whole(block, func(a campaign.PlannedArm) bool { return a.Boot == boot }) {
		if g = p.withExtras(NewState(), g).Remaining(done); len(g.Arms) > 0 {
			left = append(left, g)
		}
	}
	return left
}

// Whole returns one block of every workload, in random order, with all arms that
// take part in it and for which in returns true.
func (p *Plan) Whole(block int, in func(campaign.PlannedArm) bool) (groups []Group) {
	names := slices.Sorted(slices.Values(p.Workloads))
	shuffle(newDraw(p.Seed, "tare pass 1\x00", block), names)
	for _, w := range names {
		var arms []string
		for _, a := range p.ArmsOf(w) {
			if block%p.every(a) == 0 && in(a) {
				arms = append(arms, a.Name)
			}
		}
		groups = append(groups, p.group(w, block, arms))
	}
	return groups
}

// Round is the round of boots that a block belongs to.
func (p *Plan) Round(block int) int { return block / p.RecreateEvery }

// Rounds is how many rounds of boots there are.
func (p *Plan) Rounds() int { return p.Round(p.Rule.Max-1) + 1 }

// InBoot returns the arms that run in that boot of the host; without boots, all
// arms of the plan.
func (p *Plan) InBoot(boot string) []campaign.PlannedArm {
	return slices.DeleteFunc(slices.Clone(p.Arms),
		func(a campaign.PlannedArm) bool { return len(p.Boots) > 0 && a.Boot != boot })
}
