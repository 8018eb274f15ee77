package plan

import (
	"slices"
	"time"
)

const (
	// duetLimit: an arm whose trials take this many times as long as the baseline's takes part in no duet. The
	// others would end long before it, and leave it in other company.
	duetLimit = 2
	// fewestInDuet are the baseline, its control and an arm to compare with them.
	fewestInDuet = 3
)

// duetArms returns the arms that run a workload at once in duets, in the order of the plan; nil: it has none.
// They run alone in the first scenario, have the baseline's CPUs and caps, and are known to take less than
// duetLimit times as long as the baseline.
func (p *Plan) duetArms(s State, series string) (arms []string) {
	if p.DuetShare == 0 || !p.Computes[series] || len(p.Boots) > 0 {
		return nil
	}
	base, control := p.baseline(), false
	limit := duetLimit * s.Trial[Cell{series, base.Name}]
	for _, a := range p.ArmsOf(series) {
		alike := a.Flavor.VCPUs == base.Flavor.VCPUs && a.Flavor.CPUCap == base.Flavor.CPUCap &&
			slices.Equal(a.Flavor.CPUs, base.Flavor.CPUs)
		took := s.Trial[Cell{series, a.Name}]
		if a.Scenario != base.Scenario || len(a.Guests) != 1 || a.MemoryLeft > 0 || !alike || p.Emulated[a.System] ||
			p.Elsewhere[a.System] || took == 0 || took >= limit {
			continue
		}
		control = control || a.Control == base.Name
		arms = append(arms, a.Name)
	}
	if len(arms) < fewestInDuet || !control || !slices.Contains(arms, base.Name) {
		return nil
	}
	return arms
}

// addDuets adds to a pass the duets of its workloads: their share of the time, at least one of each workload. Duets
// follow the other blocks of their workload, if the pass has any.
func (p *Plan) addDuets(s State, pass Pass, active []string) Pass {
	arms := map[string][]string{}
	var names []string
	for _, w := range slices.Sorted(slices.Values(active)) {
		if of := p.duetArms(s, w); of != nil && s.Duets[w] < p.Rule.Max {
			arms[w] = of
			names = append(names, w)
		}
	}
	if len(names) == 0 {
		return pass
	}
	var few time.Duration
	for _, w := range names {
		few += robustBlocks * p.duetTime(s, w, arms[w])
	}
	all := p.duetsTime(s, pass)
	if p.Rule.Budget > 0 { // many duets in one pass would be of the same guests
		all = min(all, max(few, p.Rule.Budget/budgetPasses))
	}
	each := all / time.Duration(len(names))
	shuffle(newDraw(p.Seed, "tare duets 1\x00", s.Pass), names)
	for _, w := range names {
		at := len(pass.Groups)
		for i, g := range pass.Groups {
			if g.Workload == w {
				at = i + 1
			}
		}
		n := max(1, min(int(each/max(p.duetTime(s, w, arms[w]), time.Millisecond)), mostGroups))
		var duets []Group
		for i := range min(n, p.Rule.Max-s.Duets[w]) {
			g := p.group(w, s.Duets[w]+i, arms[w])
			g.Duet = true
			duets = append(duets, g)
		}
		pass.Groups = slices.Insert(pass.Groups, at, duets...)
	}
	return pass
}

// duetsTime is how long the duets of a pass are to take, all together, beside its other blocks.
func (p *Plan) duetsTime(s State, pass Pass) time.Duration {
	var others, had time.Duration
	for _, g := range pass.Groups {
		for _, a := range append([]string{g.Warmup, g.Repeat}, g.Arms...) {
			others += s.Trial[Cell{g.Workload, a}]
		}
	}
	all := times(p.DuetShare/(1-p.DuetShare), others)
	if p.Rule.Budget == 0 {
		return all
	}
	for w, n := range s.Duets {
		had += time.Duration(n) * p.duetTime(s, w, p.duetArms(s, w))
	}
	// Their share is one of the whole run, and what creates guests takes time, too.
	owed := times(p.DuetShare, s.Spent) - had
	return max(0, all+times(1/(1-p.DuetShare), owed))
}

// duetTime is how long a duet takes: as measured, or as long as the trials of its arms together.
func (p *Plan) duetTime(s State, series string, arms []string) (sum time.Duration) {
	if took, known := s.Duet[series]; known {
		return took
	}
	for _, a := range arms {
		sum += s.Trial[Cell{series, a}]
	}
	return sum
}

// DuetsPossible reports whether a workload can have duets with these arms, once it is known what they cost.
func (p *Plan) DuetsPossible(series string) bool {
	s := NewState()
	for _, a := range p.ArmsOf(series) {
		s.Trial[Cell{series, a.Name}] = time.Second
	}
	return p.duetArms(s, series) != nil
}
