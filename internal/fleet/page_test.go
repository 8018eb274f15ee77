package fleet

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/host/doctor"
	"github.com/tare-bench/tare/internal/view/pagetest"
)

// aFleet has every kind of outcome that the page of a fleet shows; says is wherever a file of others
// may have text.
func aFleet(says string) *Result {
	cost := func(workload, arm string, verdict analyze.Verdict, ln, tau float64, odd string) Cost {
		c := Cost{Workload: workload, Metric: "time" + says, Arm: arm, Family: analyze.FamilyPrimary}
		for i := range 6 {
			at := ln + tau*math.Sin(float64(3*i))
			m := MachineCost{Machine: fmt.Sprint("node", i+1, says)}
			if strings.HasPrefix(m.Machine, odd) && odd != "" {
				m.Odd, at = true, ln+0.3
				m.Without = &Without{Estimate: claim.Between(1.05, 1, 1.1), NextLow: 1.01, NextHigh: 1.09}
			}
			m.Ratio, m.CILow, m.CIHigh = math.Exp(at), math.Exp(at-0.01), math.Exp(at+0.01)
			c.Machines = append(c.Machines, m)
		}
		c.Pooled = &Pooled{Estimate: Estimate{Estimate: claim.Between(math.Exp(ln), math.Exp(ln-0.02),
			math.Exp(ln+0.02)), Verdict: verdict, OverheadPercent: 100 * math.Expm1(ln),
			FartherPercent: 100 * math.Expm1(ln+0.02)},
			NextLow: math.Exp(ln - 4*tau - 0.02), NextHigh: math.Exp(ln + 4*tau + 0.02), Tau: tau,
			TauLow: tau / 2, TauHigh: 2 * tau, DifferP: 0.001}
		c.Shares = []Share{{Level: "machine", Known: true, Percent: 61, Low: 33, High: 92}, {Level: "boot"},
			{Level: "guest", Known: true, Percent: 12, Low: 4, High: 25}, {Level: "trial", Known: true, Percent: 27}}
		return c
	}
	lone := cost("dd-write", "kvm", analyze.NotResolved, 0.3, 0, "")
	lone.Machines, lone.Pooled, lone.Shares = lone.Machines[:1], nil, nil
	lone.LeftOut = []LeftOut{{Machine: "node2", Why: "the trial sizes are 100 and 5000" + says}}
	g := Group{Name: "Example 3000, 4 CPUs" + says, Costs: []Cost{
		cost("sysbench-cpu", "lxc", analyze.None, 0.001, 0.001, ""),
		cost("sysbench-cpu", "kvm", analyze.Costs, 0.05, 0.012, "node5"),
		cost("dd-write", "lxc", analyze.Gains, -0.1, 0.02, ""), cost("untar", "kvm", analyze.Costs, 1.2, 0.2, ""), lone,
	}, Warnings: []string{"a warning" + says}}
	for i := range 6 {
		g.Machines = append(g.Machines, MachineInfo{Name: fmt.Sprint("node", i+1, says), Type: "Example 3000", Boots: 1,
			Runs: []string{"a.tare" + says, "b.tare"}})
	}
	g.Odd = []Odd{{Machine: "node5" + says, Costs: []OddCost{{Workload: "sysbench-cpu", Arm: "kvm", Here: 1.42,
		Without: Without{Estimate: claim.Between(1.05, 1, 1.1), NextLow: 1.01, NextHigh: 1.09}}},
		Facts: []Fact{{What: "governor", Is: "powersave" + says, Others: "performance", Count: 5, Of: 5}},
		Noise: []doctor.NoiseSource{{What: "swap is in use" + says}}}}
	alone := Group{Name: "Other 7", Machines: g.Machines[:1], Costs: []Cost{lone}}
	other := Between{Workload: "dd-write", Arm: "lxc", Family: analyze.FamilyPrimary, Group: "Other 7" + says,
		Against: g.Name, Estimate: g.Costs[1].Pooled.Estimate}
	return &Result{Between: []Between{other}, Name: "racks" + says, Alpha: 0.05, Delta: 0.02,
		Groups:   []Group{g, alone},
		Warnings: []string{"all" + says}}
}

func renderFleet(t testing.TB, r *Result) string {
	t.Helper()
	var b bytes.Buffer
	must(t, WritePage(&b, r))
	return b.String()
}

// TestFleetPage: the page has what the terminal has, and a plot for each cost.
func TestFleetPage(t *testing.T) {
	whole := renderFleet(t, aFleet(""))
	text := pagetest.Plain(whole)
	pagetest.Says(t, text, "racks", "6 machines.", "One machine is not enough to predict others of its kind.",
		"none (within ±2 %)", "costs", "gains", "not pooled", "1 of 2", "Odd machines",
		"kvm on sysbench-cpu costs +42.0 % here",
		"governor: powersave; on 5 of 5 others: performance", "tare doctor: swap is in use", "Machines and systems",
		"Groups against each other", "machine and boot 61 % (33 … 92)",
		"node2: kvm on dd-write: the trial sizes are 100 and 5000", "The spread between machines is")
	if n := strings.Count(whole, `class="odd"`); n != 1 {
		t.Errorf("%d odd machines are drawn", n)
	}
	// 4 pooled costs and one of a single machine, in two groups; the pooled ones have shares.
	if n := strings.Count(whole, "<svg viewBox"); n != 5+4+1 {
		t.Errorf("%d drawings", n)
	}
	if renderFleet(t, aFleet("")) != whole {
		t.Error("the same fleet gives another page")
	}
	if n := pagetest.Same(t, whole, aFleet("").Document()); n < 50 {
		t.Errorf("only %d cells were compared", n)
	}
}

// TestFleetHostile: text of run files does nothing in the pages.
func TestFleetHostile(t *testing.T) {
	const says = "<script>alert(1)</script>\x1b[31m\u202e\"'"
	for _, whole := range []string{renderFleet(t, aFleet(says)), renderChange(t, aChange(says))} {
		for _, bad := range []string{"<script>", "\x1b", "\u202e"} {
			if strings.Contains(whole, bad) {
				t.Errorf("%q is in the page", bad)
			}
		}
	}
}

// largeFleet is 200 machines, one of them odd.
func largeFleet() *Result {
	r := aFleet("")
	g := &r.Groups[0]
	g.Machines = nil
	for i := range 200 {
		g.Machines = append(g.Machines, MachineInfo{Name: fmt.Sprint("rack7-node", i+1), Type: "Example 3000",
			Boots: 1})
	}
	for i := range g.Costs[:4] {
		c := &g.Costs[i]
		c.Machines = nil
		for j := range 200 {
			at := 0.05 + 0.02*math.Sin(float64(7*j))
			m := MachineCost{Machine: g.Machines[j].Name, Ratio: math.Exp(at), CILow: math.Exp(at - 0.01),
				CIHigh: math.Exp(at + 0.01), Odd: j == 17,
				Without: &Without{Estimate: claim.Between(1.05, 1, 1.1), NextLow: 1.01, NextHigh: 1.09}}
			c.Machines = append(c.Machines, m)
		}
	}
	return r
}

// aChange has every kind of outcome that the page of a comparison of fleets shows.
func aChange(says string) *Comparison {
	change := func(arm string, verdict analyze.Verdict, ln float64) Change {
		c := aFleet(says).Groups[0].Costs[1]
		p := *c.Pooled
		p.Verdict, p.Estimate.Estimate = verdict, claim.Between(math.Exp(ln), math.Exp(ln-0.01), math.Exp(ln+0.01))
		return Change{Workload: c.Workload, Metric: c.Metric, Arm: arm + says, Family: c.Family,
			Before: 1.05, After: 1.08,
			NBefore: 6, NAfter: 6, Machines: c.Machines, Change: &p,
			LeftOut: []LeftOut{{Machine: "node9", Why: "the trial sizes are 100 and 5000" + says}}}
	}
	g := GroupChange{Name: "Example 3000" + says, Paired: true, Both: []string{"node1"},
		OnlyBefore:  []string{"node7" + says},
		Differences: []Difference{{What: "kernel" + says, Before: "6.1", After: "6.12" + says, Machines: 5, Of: 6}},
		Changes: []Change{change("lxc", analyze.Costs, 0.03), change("runc", analyze.Gains, -0.05),
			change("kvm", analyze.None, 0), change("xen-pv", analyze.NotResolved, 0.01)}}
	for i := range g.Changes {
		for j := range g.Changes[i].Machines {
			g.Changes[i].Machines[j].Without = &Without{NextLow: 1.01, NextHigh: 1.09}
		}
	}
	g.Changes = append(g.Changes, Change{Workload: "untar", Arm: "kvm", Family: analyze.FamilyPrimary,
		NBefore: 1, NAfter: 1,
		Why: "1 machine; a change of the kind needs 3" + says})
	native := change("native", analyze.NotResolved, 0)
	native.Family, native.Before = "baseline", 0
	native.Change = &Pooled{Estimate: native.Change.Estimate}
	for i := range native.Machines {
		native.Machines[i].CILow, native.Machines[i].CIHigh = 0, 0
	}
	g.Baselines = []Change{native}
	return &Comparison{Before: "june" + says, After: "july" + says, Alpha: 0.05, Delta: 0.02,
		Groups: []GroupChange{g}, Warnings: []string{"group epyc was only measured before" + says}}
}

func renderChange(t testing.TB, c *Comparison) string {
	t.Helper()
	var b bytes.Buffer
	must(t, WriteComparisonPage(&b, c))
	return b.String()
}

// TestFleetChangePage: the page has what the terminal has, and a plot for each change.
func TestFleetChangePage(t *testing.T) {
	whole := renderChange(t, aChange(""))
	text := pagetest.Plain(whole)
	pagetest.Says(t, text, "Fleet july against june", "roup epyc was only measured before", "costs more",
		"lxc on sysbench-cpu costs more than before: +3.", "costs less", "the same", "not resolved, at most",
		"not compared: 1 machine",
		"kernel: 6.1 → 6.12 on 5 of 6", "left out, since only measured before: node7", "Odd: node5",
		"The machines themselves",
		"node9: kvm on sysbench-cpu: the trial sizes")
	if n := strings.Count(whole, "<svg viewBox"); n != 5 {
		t.Errorf("%d drawings", n)
	}
	if n := pagetest.Same(t, whole, aChange("").Document()); n < 50 {
		t.Errorf("only %d cells were compared", n)
	}
}

// TestFleetInBrowser: the pages load nothing, have no errors, fit, and are accessible.
func TestFleetInBrowser(t *testing.T) {
	ctx := pagetest.Browser(t)
	trouble := &pagetest.Trouble{}
	must(t, trouble.Listen(ctx))
	for name, html := range map[string]string{"fleet": renderFleet(t, aFleet("")),
		"fleet-large": renderFleet(t, largeFleet()), "fleet-change": renderChange(t, aChange(""))} {
		views := pagetest.Views
		if name == "fleet-large" {
			views = views[:1] // its size is what is tried
		}
		trouble.Check(t, ctx, name, pagetest.Saved(t, html), views...)
	}
}
