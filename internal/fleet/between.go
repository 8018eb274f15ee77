package fleet

import (
	"cmp"
	"fmt"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report"
)

// Between compares what an arm costs on the machines of two groups.
type Between struct {
	Workload string         `json:"workload"`
	Metric   string         `json:"metric"`
	Arm      string         `json:"arm"`
	Family   analyze.Family `json:"family"` // the hypotheses among which P is adjusted
	Group    string         `json:"group"`
	Against  string         `json:"against"` // the group with the most machines
	// Estimate is the pooled cost of Group over that of Against: above 1, it costs more on Group.
	Estimate
}

// between compares each group with the one that has the most machines, the first of several. Only
// groups of three machines or more that measured the same thing are compared.
func between(groups []Group, alpha, delta float64) ([]Between, error) {
	largest := 0
	for i, g := range groups {
		if len(g.Machines) > len(groups[largest].Machines) {
			largest = i
		}
	}
	out := []Between{}
	for i, g := range groups {
		if i == largest {
			continue
		}
		for _, base := range groups[largest].Costs {
			for _, c := range g.Costs {
				if c.Workload != base.Workload || c.Metric != base.Metric || c.Arm != base.Arm ||
					min(len(c.Machines), len(base.Machines)) < fewestMachines ||
					unlikeFigures(base, base.Machines[0], c.Machines[0]) != "" {
					continue
				}
				e, err := contrast(base.Pooled, c.Pooled, alpha, delta)
				if err != nil {
					return nil, err
				}
				out = append(out, Between{c.Workload, c.Metric, c.Arm, c.Family, g.Name, groups[largest].Name, e})
			}
		}
	}
	var all judged
	for i := range out {
		all.add(out[i].Family, &out[i].Estimate, nil)
	}
	return out, all.judge(alpha, delta)
}

// betweenLegend says how to read the comparisons of groups.
const betweenLegend = "Groups against each other: what an arm costs on a group's machines, over what it costs on " +
	"those of the largest group. Above 0 % means that it costs more there. Groups are not pooled."

// words are the verdict on a comparison of groups.
func (x Between) words(delta float64) string {
	words := claim.ChangeWords[x.Verdict]
	if x.Verdict == claim.None {
		words += fmt.Sprintf(" within ±%.3g %%", 100*delta)
	}
	return cmp.Or(words, report.NotResolved(x.FartherPercent))
}
