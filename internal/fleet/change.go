package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/compare"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/stats"
)

// Comparison is what changed from one fleet to another: the same machines before and after a new
// kernel, or two sets of machines. It holds no NaN and no infinity.
type Comparison struct {
	Format   int           `json:"tare_fleet_comparison"` // Format
	Before   string        `json:"before"`                // names of the fleets
	After    string        `json:"after"`
	Alpha    float64       `json:"alpha"`
	Delta    float64       `json:"delta"`
	Groups   []GroupChange `json:"groups"`   // those that both fleets have
	Warnings []string      `json:"warnings"` // such as groups that only one of them has
}

// GroupChange is what changed on the machines of a group.
type GroupChange struct {
	Name string `json:"name"`
	// Paired: the same machines were measured twice, and each is compared with itself. Else the means
	// of the two sides are.
	Paired      bool         `json:"paired"`
	Both        []string     `json:"both"` // machines on both sides, by their names before
	OnlyBefore  []string     `json:"only_before"`
	OnlyAfter   []string     `json:"only_after"`
	Differences []Difference `json:"differences"` // to read before any figure
	Changes     []Change     `json:"changes"`     // of what arms cost
	Baselines   []Change     `json:"baselines"`   // of the baselines' own figures; only if paired
	Odd         []string     `json:"odd"`         // machines on which something changed otherwise than on the others
}

// Difference is a fact that is not the same on both sides.
type Difference struct {
	What     string `json:"what"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Machines int    `json:"machines"` // on how many it changed so; 0 if the sides are not paired
	Of       int    `json:"of"`
}

// Change is how what an arm costs changed, or the baseline's own figure. Ratios above 1 always mean
// that it is worse than before.
type Change struct {
	Workload string         `json:"workload"`
	Metric   string         `json:"metric"`
	Better   string         `json:"better"`
	Arm      string         `json:"arm"`
	Family   analyze.Family `json:"family"` // the hypotheses among which P is adjusted
	// Before and After are the means of the machines compared; 0 for baselines.
	Before  float64 `json:"before,omitzero"`
	After   float64 `json:"after,omitzero"`
	NBefore int     `json:"n_before"`
	NAfter  int     `json:"n_after"`

	Machines []MachineCost `json:"machines,omitempty"` // the change on each machine, if paired
	LeftOut  []LeftOut     `json:"left_out"`
	// Change has no spread and no next machine if the sides are not paired, and for baselines. It is
	// nil if there is nothing to compare; Why says why. Its verdict "costs" means more than before.
	Change *Pooled `json:"change,omitempty"`
	Why    string  `json:"why,omitempty"`
}

// fewestMachines is how many machines a comparison needs: with two, the interval of a mean has one
// degree of freedom, and there is no prediction.
const fewestMachines = 3

// Compare says what changed from one fleet to another. Groups of the same name are compared. If half
// of the machines of the smaller side or more, and at least three, were measured on both sides, each
// machine is compared with itself, and the others are left out; else the sides are samples of
// different machines. Machines are the same if their host ids are, or their names if one has no id.
func Compare(before, after *Result) (*Comparison, error) {
	c := &Comparison{Format: Format, Before: before.Name, After: after.Name, Alpha: before.Alpha, Delta: before.Delta,
		Groups: []GroupChange{}, Warnings: slices.Concat(before.Warnings, after.Warnings)}
	if c.Warnings == nil {
		c.Warnings = []string{}
	}
	for _, side := range []struct {
		name string
		of   *Result
	}{{"before", before}, {"after", after}} {
		for _, g := range side.of.Groups {
			if text := incomplete(g.Machines); text != "" {
				c.Warnings = append(c.Warnings, side.name+": "+text)
			}
		}
	}
	for _, x := range before.Groups {
		i := slices.IndexFunc(after.Groups, func(g Group) bool { return g.Name == x.Name })
		if i < 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("the group %s was only measured before", x.Name))
			continue
		}
		g, err := compareGroups(&x, &after.Groups[i], c.Alpha, c.Delta)
		if err != nil {
			return nil, fmt.Errorf("fleet: group %s: %w", x.Name, err)
		}
		c.Groups = append(c.Groups, *g)
	}
	for _, y := range after.Groups {
		if !slices.ContainsFunc(before.Groups, func(g Group) bool { return g.Name == y.Name }) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("the group %s was only measured after", y.Name))
		}
	}
	if c.unchanged() {
		c.Warnings = append(c.Warnings, "no figure of any machine changed in any digit: the two fleets have the same runs")
	}
	if len(c.Groups) == 0 {
		return nil, fault.WithRemedy(fault.Campaignf("the fleets have no group in common"),
			"give the machines the same groups in both fleet files")
	}
	return c, nil
}

// unchanged reports whether each figure of each machine is exactly what it was.
func (c *Comparison) unchanged() bool {
	some := false
	for _, g := range c.Groups {
		for _, ch := range g.Changes {
			for _, m := range ch.Machines {
				if some = true; m.Ratio != 1 {
					return false
				}
			}
		}
	}
	return some
}

// both is a machine on both sides.
type both struct{ before, after MachineInfo }

func compareGroups(before, after *Group, alpha, delta float64) (*GroupChange, error) {
	g := &GroupChange{Name: before.Name, Both: []string{}, OnlyBefore: []string{}, OnlyAfter: []string{},
		Differences: []Difference{}, Changes: []Change{}, Baselines: []Change{}, Odd: []string{}}
	pairs := g.pair(before.Machines, after.Machines)
	g.Differences = differences(g.Paired, pairs, before.Machines, after.Machines)
	for _, x := range before.Costs {
		i := slices.IndexFunc(after.Costs, func(y Cost) bool {
			return y.Workload == x.Workload && y.Metric == x.Metric && y.Arm == x.Arm && y.Better == x.Better
		})
		if i < 0 {
			continue
		}
		if err := g.change(x, after.Costs[i], pairs, alpha, delta); err != nil {
			return nil, err
		}
	}
	return g, g.judge(alpha, delta)
}

// pair finds the machines that are on both sides, and decides whether they are compared with themselves.
func (g *GroupChange) pair(before, after []MachineInfo) []both {
	var pairs []both
	found := map[string]bool{}
	for _, x := range before {
		i := slices.IndexFunc(after, func(y MachineInfo) bool {
			if x.HostID != "" && y.HostID != "" {
				return x.HostID == y.HostID && !found[y.Name]
			}
			return x.Name == y.Name && !found[y.Name]
		})
		if i < 0 {
			g.OnlyBefore = append(g.OnlyBefore, x.Name)
			continue
		}
		found[after[i].Name] = true
		g.Both = append(g.Both, x.Name)
		pairs = append(pairs, both{x, after[i]})
	}
	for _, y := range after {
		if !found[y.Name] {
			g.OnlyAfter = append(g.OnlyAfter, y.Name)
		}
	}
	smaller := min(len(before), len(after))
	g.Paired = 2*len(pairs) >= smaller && (len(pairs) >= fewestMachines || len(pairs) == smaller)
	return pairs
}

// change adds how a cost changed and, if the sides are paired, how its baseline did.
func (g *GroupChange) change(before, after Cost, pairs []both, alpha, delta float64) error {
	if !g.Paired {
		ch, err := unpairedChange(before, after, alpha, delta)
		g.Changes = append(g.Changes, ch)
		return err
	}
	ch, err := pairedChange(before, after, pairs, alpha, delta)
	if err != nil {
		return err
	}
	g.Changes = append(g.Changes, ch)
	if slices.ContainsFunc(g.Baselines, func(b Change) bool {
		return b.Workload == before.Workload && b.Metric == before.Metric && b.Arm == before.Baseline
	}) {
		return nil
	}
	ch, err = baselineChange(before, after, pairs, alpha, delta)
	if len(ch.Machines) > 0 {
		g.Baselines = append(g.Baselines, ch)
	}
	return err
}

// judge gives the changes of each family their verdicts, and names the machines that changed otherwise.
func (g *GroupChange) judge(alpha, delta float64) error {
	var all judged
	for _, list := range [][]Change{g.Changes, g.Baselines} {
		for i := range list {
			if ch := &list[i]; ch.Change != nil {
				all.add(ch.Family, &ch.Change.Estimate, ch.Machines)
			}
		}
	}
	if err := all.judge(alpha, delta); err != nil {
		return err
	}
	for _, ch := range g.Changes {
		for _, m := range ch.Machines {
			if m.Odd && !slices.Contains(g.Odd, m.Machine) {
				g.Odd = append(g.Odd, m.Machine)
			}
		}
	}
	return nil
}

// changeOf is a change without figures.
func changeOf(c Cost) Change {
	return Change{Workload: c.Workload, Metric: c.Metric, Better: c.Better, Arm: c.Arm, Family: c.Family,
		LeftOut: []LeftOut{}}
}

// On is a machine's cost; nil if it has none.
func (c Cost) On(machine string) *MachineCost {
	for i := range c.Machines {
		if c.Machines[i].Machine == machine {
			return &c.Machines[i]
		}
	}
	return nil
}

// pairedChange compares each machine with itself, and pools the changes of the machines.
func pairedChange(before, after Cost, pairs []both, alpha, delta float64) (Change, error) {
	ch := changeOf(before)
	var of []stats.Interval
	var lnBefore, lnAfter []float64
	for _, p := range pairs {
		x, y := before.On(p.before.Name), after.On(p.after.Name)
		why := ""
		switch {
		case x == nil && y == nil:
			continue
		case x == nil:
			why = "it has no figure before"
		case y == nil:
			why = "it has no figure after"
		default:
			why = unlikeFigures(before, *x, *y)
		}
		if why != "" {
			ch.LeftOut = append(ch.LeftOut, LeftOut{p.before.Name, why})
			continue
		}
		e, err := stats.Contrast([]stats.Interval{y.ln(), x.ln()}, []float64{1, -1}, alpha) // Welch's formula
		if err != nil {
			return ch, err
		}
		m := machineOf(p.before.Name, e)
		m.Runs = x.Runs + y.Runs
		ch.Machines, of = append(ch.Machines, m), append(of, e)
		lnBefore, lnAfter = append(lnBefore, math.Log(x.Ratio)), append(lnAfter, math.Log(y.Ratio))
	}
	ch.NBefore, ch.NAfter = len(of), len(of)
	if len(of) == 0 {
		ch.Why = "no machine has a figure on both sides"
		return ch, nil
	}
	ch.Before, ch.After = claim.Alone(stats.Mean(lnBefore)).Ratio, claim.Alone(stats.Mean(lnAfter)).Ratio
	if len(of) < fewestMachines {
		ch.Why = fmt.Sprintf("%s; a change of the kind needs %d", Count(len(of), "machine"), fewestMachines)
		return ch, nil
	}
	var err error
	ch.Change, err = pool(of, ch.Machines, alpha, delta)
	return ch, err
}

// ln is the logarithm of a machine's ratio, as the estimate of its runs.
func (m *MachineCost) ln() stats.Interval {
	return stats.Interval{Estimate: math.Log(m.Ratio), StdErr: m.StdErr, DF: m.DF, N: 1}
}

// unlikeFigures says why two costs of a machine cannot be compared; "" if they can.
func unlikeFigures(c Cost, before, after MachineCost) string {
	switch {
	case before.Guests != after.Guests:
		return fmt.Sprintf("its guests were of another size: %s, then %s", before.Guests, after.Guests)
	case before.BaselineSystem != after.BaselineSystem:
		return fmt.Sprintf("its baseline was another system: %s, then %s", before.BaselineSystem, after.BaselineSystem)
	}
	return compare.UnlikeSizes(c.Workload, c.Metric, before.SizeUnit, before.Size, after.Size)
}

// unpairedChange compares the means of two sets of machines.
func unpairedChange(before, after Cost, alpha, delta float64) (Change, error) {
	ch := changeOf(before)
	ch.NBefore, ch.NAfter = len(before.Machines), len(after.Machines)
	if before.Pooled == nil || after.Pooled == nil || min(ch.NBefore, ch.NAfter) < fewestMachines {
		ch.Why = fmt.Sprintf("%d and %d machines; different machines need %d on each side", ch.NBefore, ch.NAfter,
			fewestMachines)
		return ch, nil
	}
	ch.Before, ch.After = before.Pooled.Ratio, after.Pooled.Ratio
	// The machines of each side are alike, so its first stands for them.
	if ch.Why = unlikeFigures(before, before.Machines[0], after.Machines[0]); ch.Why != "" {
		return ch, nil
	}
	e, err := contrast(before.Pooled, after.Pooled, alpha, delta)
	ch.Change = &Pooled{Estimate: e}
	return ch, err
}

// contrast is the second pooled ratio over the first, of different machines: Welch's interval from
// Hartung and Knapp's standard errors, each with k-1 degrees of freedom.
func contrast(first, second *Pooled, alpha, delta float64) (Estimate, error) {
	d, err := stats.Contrast([]stats.Interval{second.mean, first.mean}, []float64{1, -1}, alpha)
	if err != nil {
		return Estimate{}, err
	}
	return estimateOf(d, delta)
}

// baselineChange says how the machines themselves changed: Student's t over the ln changes of the
// baseline's typical trial. A run does not say how far its baseline would be off in another boot of
// the host, so the machines have equal weights.
func baselineChange(before, after Cost, pairs []both, alpha, delta float64) (Change, error) {
	ch := changeOf(before)
	ch.Arm, ch.Family = before.Baseline, analyze.FamilyBaseline
	var ln []float64
	for _, p := range pairs {
		x, y := before.On(p.before.Name), after.On(p.after.Name)
		if x == nil || y == nil || x.BaselineValue <= 0 || y.BaselineValue <= 0 {
			continue
		}
		if x.Size != y.Size {
			ch.LeftOut = append(ch.LeftOut, LeftOut{p.before.Name, fmt.Sprintf("its trials had sizes of %d and %d", x.Size,
				y.Size)})
			continue
		}
		v := math.Log(y.BaselineValue) - math.Log(x.BaselineValue)
		if before.Better == "higher" {
			v = -v
		}
		ln = append(ln, v)
		ch.Machines = append(ch.Machines, MachineCost{Machine: p.before.Name, Ratio: claim.Alone(v).Ratio,
			Runs: x.Runs + y.Runs})
	}
	ch.NBefore, ch.NAfter = len(ln), len(ln)
	if len(ln) < fewestMachines {
		ch.Why = fmt.Sprintf("%s; a change of the kind needs %d", Count(len(ln), "machine"), fewestMachines)
		return ch, nil
	}
	iv, err := stats.MeanT(ln, alpha)
	if err != nil {
		return ch, err
	}
	if iv.Degenerate {
		ch.Why = "the machines agree to the last digit"
		return ch, nil
	}
	e, err := estimateOf(iv, delta)
	ch.Change = &Pooled{Estimate: e}
	return ch, err
}

// differences lists the facts that changed, with those that changed on most machines first. Of
// machines that are not the same, it lists those that all machines of a side have alike.
func differences(paired bool, pairs []both, before, after []MachineInfo) []Difference {
	out := []Difference{}
	if !paired {
		x, y := common(before), common(after)
		for _, what := range slices.Sorted(maps.Keys(x)) {
			if is, ok := y[what]; ok && is != x[what] {
				out = append(out, Difference{What: what, Before: x[what], After: is})
			}
		}
		return out
	}
	at := map[[3]string]int{}
	for _, p := range pairs {
		for what, was := range p.before.Facts {
			if is := p.after.Facts[what]; is != was {
				at[[3]string{what, was, is}]++
			}
		}
	}
	for key, n := range at {
		out = append(out, Difference{key[0], key[1], key[2], n, len(pairs)})
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(b.Machines-a.Machines, cmp.Compare(a.What, b.What), cmp.Compare(a.Before, b.Before),
			cmp.Compare(a.After, b.After))
	})
	return out
}

// common has the facts that are the same on all machines.
func common(machines []MachineInfo) map[string]string {
	facts := maps.Clone(machines[0].Facts)
	for _, m := range machines[1:] {
		maps.DeleteFunc(facts, func(what, is string) bool { return m.Facts[what] != is })
	}
	return facts
}

// Above names the claimed changes for the worse whose estimate exceeds a fraction.
func (c *Comparison) Above(fraction float64) []string {
	var out []string
	for _, g := range c.Groups {
		for _, ch := range slices.Concat(g.Changes, g.Baselines) {
			if p := ch.Change; p != nil && p.Verdict == analyze.Costs && p.Ratio > 1+fraction {
				out = append(out, fmt.Sprintf("%s: %s on %s: %s (%s)", g.Name, ch.Arm, ch.Title(), report.Cost(p.Ratio),
					report.CostInterval(p.CILow, p.CIHigh)))
			}
		}
	}
	return out
}
