package fleet

import (
	"encoding/json"
	"fmt"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/stats"
)

// ParseJSON reads a result that JSON wrote, perhaps elsewhere; path is for errors. Only what single
// machines say is taken from it: the rest is computed again.
func ParseJSON(path string, text []byte) (*Result, error) {
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fault.Campaignf("%s: not the JSON of a fleet: %w", path, err)
	}
	if r.Format != Format {
		return nil, fault.WithRemedy(fault.Campaignf("%s: not the JSON of a fleet, or of another version of tare: "+
			"tare_fleet is %d, not %d", path, r.Format, Format), "tare fleet show FLEET --json, with this version")
	}
	if !(r.Alpha > 0 && r.Alpha < 1 && r.Delta > 0) || len(r.Groups) == 0 {
		return nil, fault.Campaignf("%s: needs an alpha between 0 and 1, a delta above 0, and groups", path)
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		if len(g.Machines) == 0 {
			return nil, fault.Campaignf("%s: group %s has no machines", path, g.Name)
		}
		known := map[string]bool{}
		for _, m := range g.Machines {
			if m.Name == "" || known[m.Name] {
				return nil, fault.Campaignf("%s: group %s: machine %q is listed twice, or has no name", path, g.Name, m.Name)
			}
			known[m.Name] = true
		}
		g.Odd = []Odd{} // their reasons are not needed again
		for j := range g.Costs {
			if err := g.Costs[j].again(known, r.Alpha, r.Delta); err != nil {
				return nil, fault.Campaignf("%s: group %s, %s on %s: %w", path, g.Name, g.Costs[j].Arm, g.Costs[j].Workload, err)
			}
		}
		if err := judge(g, r.Alpha, r.Delta); err != nil {
			return nil, err
		}
	}
	var err error
	r.Between, err = between(r.Groups, r.Alpha, r.Delta)
	return &r, err
}

// again pools the machines of a cost, which must be known.
func (c *Cost) again(known map[string]bool, alpha, delta float64) (err error) {
	var of []stats.Interval
	once := map[string]bool{}
	for i, m := range c.Machines {
		if !known[m.Machine] || once[m.Machine] {
			return fmt.Errorf("machine %q is not in the group, or is listed twice", m.Machine)
		}
		once[m.Machine] = true
		// JSON has no infinities and no NaN.
		if !(m.Ratio > 0 && m.StdErr > 0 && m.DF > 0 && m.BaselineValue >= 0) {
			return fmt.Errorf("machine %s has ratio %v, standard error %v, %v degrees of freedom, baseline %v", m.Machine,
				m.Ratio, m.StdErr, m.DF, m.BaselineValue)
		}
		e, err := stats.Contrast([]stats.Interval{m.ln()}, []float64{1}, alpha)
		if err != nil {
			return err
		}
		fresh := machineOf(m.Machine, e)
		m.CILow, m.CIHigh, m.Without, m.Odd = fresh.CILow, fresh.CIHigh, nil, false
		c.Machines[i], of = m, append(of, e)
	}
	c.Pooled, err = pool(of, c.Machines, alpha, delta)
	return err
}
