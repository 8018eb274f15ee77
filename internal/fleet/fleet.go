// Package fleet says what a system costs on machines of a kind, not on one machine: what it costs on
// average, how much that differs from machine to machine, where the cost on the next machine lies,
// and which machines are odd.
//
// Machines of a group are a random sample (stats.Pool). A machine's own estimate and standard error
// are those of its run (package analyze). Machines of different groups are never pooled, and what
// cannot be pooled within a group is left out with the reason. docs/fleet.md has the formulas and
// their coverage in simulations.
package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/stats"
	"github.com/tare-bench/tare/internal/view"
)

// Machine is one machine with its runs.
type Machine struct {
	Name  string
	Group string // "": that of its type
	Runs  []*Run
}

// Format is the version of the JSON of a Result and of a Comparison. Members are only added within a
// version.
const Format = 1

// Result is what a fleet's runs say. It holds no NaN and no infinity.
type Result struct {
	Format   int       `json:"tare_fleet"` // Format
	Name     string    `json:"name,omitempty"`
	Alpha    float64   `json:"alpha"`
	Delta    float64   `json:"delta"`
	Groups   []Group   `json:"groups"`
	Between  []Between `json:"between"`  // groups against each other
	Warnings []string  `json:"warnings"` // about the fleet as a whole
}

// Group is machines of one kind.
type Group struct {
	Name     string        `json:"name"`
	Machines []MachineInfo `json:"machines"`
	Costs    []Cost        `json:"costs"` // in the order of the runs
	Odd      []Odd         `json:"odd"`
	Warnings []string      `json:"warnings"`
}

// MachineInfo is a machine of a group.
type MachineInfo struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	HostID string   `json:"host_id,omitempty"`
	Runs   []string `json:"runs"`
	Boots  int      `json:"boots"` // of the host during its runs
	// Incomplete says why one of Runs is incomplete; what it has is pooled.
	Incomplete string `json:"incomplete,omitempty"`
	// Facts may explain that a machine is odd, or that something changed: kernel, governor, versions.
	// An empty one is not known, or there is none.
	Facts map[string]string `json:"facts,omitempty"`
}

// Cost is what an arm costs on the machines of a group, by one metric of a workload. Ratios above 1
// always mean that it costs more than the baseline of the same machine.
type Cost struct {
	Workload string         `json:"workload"`
	Metric   string         `json:"metric"`
	Unit     string         `json:"unit"`
	Better   string         `json:"better"`
	Arm      string         `json:"arm"`
	Baseline string         `json:"baseline"`
	Family   analyze.Family `json:"family"` // the hypotheses among which P is adjusted

	Machines []MachineCost `json:"machines"`
	LeftOut  []LeftOut     `json:"left_out"`
	Pooled   *Pooled       `json:"pooled,omitempty"` // nil with fewer than two machines
	Shares   []Share       `json:"shares,omitempty"` // where the variance of single blocks comes from
}

// MachineCost is what an arm costs on one machine.
type MachineCost struct {
	Machine string  `json:"machine"`
	Ratio   float64 `json:"ratio"`
	CILow   float64 `json:"ci_low"`
	CIHigh  float64 `json:"ci_high"`
	StdErr  float64 `json:"std_err"` // of ln Ratio
	DF      float64 `json:"df"`
	Runs    int     `json:"runs"`
	// Of what the cost is, so that costs of two fleets can be put beside each other.
	Size           int64   `json:"size,omitzero"` // of a trial, in SizeUnit
	SizeUnit       string  `json:"size_unit,omitempty"`
	Guests         string  `json:"guests,omitempty"` // the size of the arm's guests in words
	BaselineSystem string  `json:"baseline_system,omitempty"`
	BaselineValue  float64 `json:"baseline_value,omitzero"` // its typical trial, in the cost's unit
	// Without is the pooled cost of the other machines; nil with fewer than four machines.
	Without *Without `json:"without,omitempty"`
	Odd     bool     `json:"odd,omitempty"` // PHolm of Without is below alpha
}

// Share is what one level adds to the variance of the cost of a single block.
type Share struct {
	Level string `json:"level"` // machine, boot, guest or trial
	// Known: the level can be told from the one before. If each machine was booted once, what boots
	// add is in the share of machines.
	Known   bool    `json:"known"`
	Percent float64 `json:"percent"`              // of the variance of all levels; a negative variance counts as 0
	Low     float64 `json:"low_percent,omitzero"` // its interval; none if the level occurs too rarely
	High    float64 `json:"high_percent,omitzero"`
	SD      float64 `json:"sd"` // of ln costs
	DF      int     `json:"df"`
}

// LeftOut is a machine whose figure is not pooled.
type LeftOut struct {
	Machine string `json:"machine"`
	Why     string `json:"why"`
}

// Analyze pools the runs of machines. Without all, it takes the primary metric of each workload.
func Analyze(name string, machines []Machine, all bool) (*Result, error) {
	if len(machines) == 0 {
		return nil, fault.Campaignf("a fleet needs runs")
	}
	res := &Result{Format: Format, Name: name, Groups: []Group{}, Warnings: []string{}}
	var names []string
	groups := map[string][]Machine{}
	hosts := map[string]string{}
	for _, m := range machines {
		if len(m.Runs) == 0 {
			return nil, fault.Campaignf("machine %s has no runs", m.Name)
		}
		first := m.Runs[0]
		res.Alpha, res.Delta = cmp.Or(res.Alpha, first.Result.Alpha), cmp.Or(res.Delta, first.Result.Delta)
		m.Group = cmp.Or(m.Group, first.Type)
		if groups[m.Group] == nil {
			names = append(names, m.Group)
		}
		groups[m.Group] = append(groups[m.Group], m)
		if other, twice := hosts[first.HostID]; twice && first.HostID != "" {
			res.Warnings = append(res.Warnings, fmt.Sprintf("%s and %s have the same host id: one machine under two "+
				"names, or a cloned machine id. If they are one machine, their costs are not independent.", other, m.Name))
		}
		hosts[first.HostID] = m.Name
	}
	for _, name := range names {
		g, err := analyzeGroup(name, groups[name], res.Alpha, res.Delta, all)
		if err != nil {
			return nil, fmt.Errorf("fleet: group %s: %w", name, err)
		}
		res.Groups = append(res.Groups, g)
	}
	var err error
	res.Between, err = between(res.Groups, res.Alpha, res.Delta)
	return res, err
}

func analyzeGroup(name string, machines []Machine, alpha, delta float64, all bool) (Group, error) {
	g := Group{Name: name, Machines: []MachineInfo{}, Costs: []Cost{}, Odd: []Odd{}, Warnings: []string{}}
	var types []string
	for _, m := range machines {
		info := MachineInfo{Name: m.Name, Type: m.Runs[0].Type, HostID: m.Runs[0].HostID, Facts: map[string]string{}}
		for _, f := range m.Runs[0].facts {
			info.Facts[f[0]] = f[1]
		}
		var boots []string
		for _, r := range m.Runs {
			info.Runs = append(info.Runs, r.Name)
			info.Incomplete = cmp.Or(info.Incomplete, r.incomplete)
			boots = append(boots, r.Boots()...)
			if r.HostID != info.HostID {
				g.Warnings = append(g.Warnings, fmt.Sprintf("the runs of %s are from different hosts", m.Name))
			}
			if !slices.Contains(types, r.Type) {
				types = append(types, r.Type)
			}
		}
		slices.Sort(boots)
		info.Boots = len(slices.Compact(boots))
		g.Machines = append(g.Machines, info)
	}
	if len(types) > 1 {
		g.Warnings = append(g.Warnings, fmt.Sprintf("the group has machines of %d types, and its spread includes their "+
			"differences: %s", len(types), view.And(types)))
	}
	if text := incomplete(g.Machines); text != "" {
		g.Warnings = append(g.Warnings, text)
	}
	done := map[analyze.CostOf]bool{}
	for _, m := range machines {
		for _, r := range m.Runs {
			for _, c := range r.Result.Comparisons {
				if c.Control || !all && !c.Primary || done[c.Of()] {
					continue
				}
				done[c.Of()] = true
				cost, err := costOf(c, machines, alpha, delta)
				if err != nil {
					return g, err
				}
				g.Costs = append(g.Costs, cost)
			}
		}
	}
	if err := judge(&g, alpha, delta); err != nil {
		return g, err
	}
	g.Odd = oddOnes(&g, machines)
	return g, nil
}

// incomplete names the machines with runs that are incomplete, by the reason; "" if there are none.
func incomplete(machines []MachineInfo) string {
	var reasons []string
	of := map[string][]string{}
	for _, m := range machines {
		if m.Incomplete == "" {
			continue
		}
		if of[m.Incomplete] == nil {
			reasons = append(reasons, m.Incomplete)
		}
		of[m.Incomplete] = append(of[m.Incomplete], m.Name)
	}
	for i, why := range reasons {
		reasons[i] = view.And(of[why]) + " (" + why + ")"
	}
	if reasons == nil {
		return ""
	}
	return "not finished, and pooled with what is there: " + strings.Join(reasons, "; ")
}

// costOf pools one cost.
func costOf(c analyze.Comparison, machines []Machine, alpha, delta float64) (Cost, error) {
	cost := Cost{Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, Arm: c.Arm,
		Baseline: c.Baseline, Family: c.Family, Machines: []MachineCost{}, LeftOut: []LeftOut{}}
	var of []stats.Interval
	var taken []Machine
	for _, m := range comparable(c, machines, &cost.LeftOut) {
		e, mc, err := machineCost(c, m, alpha)
		if err != nil {
			return cost, err
		}
		of, taken, cost.Machines = append(of, e), append(taken, m), append(cost.Machines, mc)
	}
	if len(of) < 2 {
		return cost, nil
	}
	var err error
	if cost.Pooled, err = pool(of, cost.Machines, alpha, delta); err != nil {
		return cost, err
	}
	cost.Shares, err = sharesOf(c, taken, alpha)
	return cost, err
}

// machineCost is what an arm costs on one machine: the mean of its runs.
func machineCost(c analyze.Comparison, m Machine, alpha float64) (stats.Interval, MachineCost, error) {
	var ln []float64
	var own, lowest float64 // Σs², and the least degrees of freedom
	for _, r := range m.Runs {
		k := r.Comparison(c.Of())
		ln = append(ln, math.Log(k.Ratio))
		own += k.StdErr * k.StdErr
		if lowest == 0 || k.DF < lowest {
			lowest = k.DF
		}
	}
	n := float64(len(ln))
	e := stats.Interval{Estimate: ln[0], StdErr: math.Sqrt(own) / n, DF: lowest, N: len(ln)}
	if n > 1 {
		// What boots add is between the runs, but two or three runs may agree by chance.
		iv, err := stats.MeanT(ln, alpha)
		if err != nil {
			return e, MachineCost{}, err
		}
		e.Estimate = iv.Estimate
		if iv.StdErr > e.StdErr {
			e = iv
		}
	}
	e, err := stats.Contrast([]stats.Interval{e}, []float64{1}, alpha)
	mc := machineOf(m.Name, e)
	first := m.Runs[0]
	size := first.Size(c.Workload)
	mc.Runs, mc.Size, mc.SizeUnit, mc.Guests = len(ln), size.Size, size.Unit, guests(first, c.Arm)
	mc.BaselineSystem, mc.BaselineValue = first.Arm(c.Baseline).System, baselineValue(c, m)
	return e, mc, err
}

// baselineValue is the typical trial of the baseline on a machine, the geometric mean of its runs; 0
// if it is not known, or trials have several sizes.
func baselineValue(c analyze.Comparison, m Machine) float64 {
	sum := 0.0
	for _, r := range m.Runs {
		v := r.Result.Arm(c.Baseline, c.Workload).Metric(c.Metric)
		if v == nil || !(v.Median > 0) || r.Size(c.Workload).Size != m.Runs[0].Size(c.Workload).Size {
			return 0
		}
		sum += math.Log(v.Median)
	}
	return math.Exp(sum / float64(len(m.Runs)))
}

// judge adjusts the p-values within each family, and sets verdicts and odd machines.
func judge(g *Group, alpha, delta float64) error {
	var all judged
	for i := range g.Costs {
		if c := &g.Costs[i]; c.Pooled != nil {
			all.add(c.Family, &c.Pooled.Estimate, c.Machines)
		}
	}
	return all.judge(alpha, delta)
}
