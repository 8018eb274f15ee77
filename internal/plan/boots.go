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

// Next returns the first block that has trials left, the boot of the host that
// they need, and those trials, for a plan with boots. It returns Rule.Max and
// no trials when all are done.
func (p *Plan) Next(done func(ID) bool) (block int, boot campaign.Boot, left []Trial) {
	for round := 0; ; round++ {
		first, end := p.round(round)
		if first == end {
			return p.Rule.Max, campaign.Boot{}, nil
		}
		for _, name := range p.bootOrder(round) {
			for b := first; b < end; b++ {
				left := slices.DeleteFunc(p.Remaining(b, done), func(t Trial) bool { return p.bootOf(t.Arm) != name })
				if len(left) > 0 {
					i := slices.IndexFunc(p.Boots, func(b campaign.Boot) bool { return b.Name == name })
					return b, p.Boots[i], left
				}
			}
		}
	}
}

func (p *Plan) bootOf(arm string) string {
	for _, a := range p.Arms {
		if a.Name == arm {
			return a.Boot
		}
	}
	return ""
}

// InBoot returns the arms that run in that boot of the host; all of them in a
// plan without boots.
func (p *Plan) InBoot(boot string) []Arm {
	return slices.DeleteFunc(slices.Clone(p.Arms), func(a Arm) bool { return len(p.Boots) > 0 && a.Boot != boot })
}
