package plan

import (
	"slices"

	"github.com/tare-bench/tare/internal/campaign"
)

// A campaign with boots goes in rounds: in each, the host is booted in every
// way once, in random order, and each boot runs the same RecreateEvery blocks
// with the arms that belong to it. An incarnation of the guests (an epoch) is a
// round. Block b of one boot is paired with block b of the other; as all pairs
// of a round share two boots, the rounds are what an interval is over.

// round returns the blocks [first, end) of a round; none after the last one.
func (p *Plan) round(n int) (first, end int) {
	k := p.RecreateEvery
	return min(n*k, p.Rule.Max), min((n+1)*k, p.Rule.Max)
}

// bootOrder is the order of the boots in a round. The first round begins with
// the baseline's, since the amounts of work are calibrated there.
func (p *Plan) bootOrder(round int) []string {
	names := make([]string, len(p.Boots))
	for i, b := range p.Boots {
		names[i] = b.Name
	}
	slices.Sort(names)
	shuffle(newDraw(p.Seed, "tare boots 1\x00", round), names)
	if round == 0 {
		base := p.Arms[slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Baseline })].Boot
		i := slices.Index(names, base)
		names = slices.Concat(names[i:i+1], names[:i], names[i+1:])
	}
	return names
}

// NextInBoots returns the first block that has trials left, the boot of the
// host that they need, and the groups of those trials, for a plan with boots.
// It returns Rule.Max and no groups when all are done.
func (p *Plan) NextInBoots(done func(ID) bool) (block int, boot campaign.Boot, left []Group) {
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

// inBoot is the groups of a block, of the arms of one boot, that have trials left.
func (p *Plan) inBoot(boot string, block int, done func(ID) bool) (left []Group) {
	for _, g := range p.Whole(block, func(a Arm) bool { return a.Boot == boot }) {
		if g = p.withExtras(NewState(), g).Remaining(done); len(g.Arms) > 0 {
			left = append(left, g)
		}
	}
	return left
}

// Whole returns a block of every workload, in random order, with all arms for
// which in holds that take part in that block.
func (p *Plan) Whole(block int, in func(Arm) bool) (groups []Group) {
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

// InBoot returns the arms that run in that boot of the host; all of them in a
// plan without boots.
func (p *Plan) InBoot(boot string) []Arm {
	return slices.DeleteFunc(slices.Clone(p.Arms), func(a Arm) bool { return len(p.Boots) > 0 && a.Boot != boot })
}
