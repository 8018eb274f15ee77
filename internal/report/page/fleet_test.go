package page

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/host/doctor"
	"github.com/tare-bench/tare/internal/report/page/pagetest"
)

// aFleet has every kind of outcome that the page of a fleet shows; says is wherever a file of others
// may have text.
func aFleet(says string) *fleet.Result {
	cost := func(workload, arm string, verdict analyze.Verdict, ln, tau float64, odd string) fleet.Cost {
		c := fleet.Cost{Workload: workload, Metric: "time" + says, Arm: arm, Family: analyze.FamilyPrimary}
		for i := range 6 {
			at := ln + tau*math.Sin(float64(3*i))
			m := fleet.MachineCost{Machine: fmt.Sprint("node", i+1, says)}
			if strings.HasPrefix(m.Machine, odd) && odd != "" {
				m.Odd, at = true, ln+0.3
			}
			m.Ratio, m.CILow, m.CIHigh = math.Exp(at), math.Exp(at-0.01), math.Exp(at+0.01)
			c.Machines = append(c.Machines, m)
		}
		c.Pooled = &fleet.Pooled{Estimate: fleet.Estimate{Ratio: math.Exp(ln), CILow: math.Exp(ln - 0.02),
			CIHigh: math.Exp(ln + 0.02), Verdict: verdict, OverheadPercent: 100 * math.Expm1(ln),
			FartherPercent: 100 * math.Expm1(ln+0.02)},
			NextLow: math.Exp(ln - 4*tau - 0.02), NextHigh: math.Exp(ln + 4*tau + 0.02), Tau: tau,
			TauLow: tau / 2, TauHigh: 2 * tau, DifferP: 0.001}
		c.Shares = []fleet.Share{{Level: "machine", Known: true, Percent: 61}, {Level: "boot"},
			{Level: "guest", Known: true, Percent: 12}, {Level: "trial", Known: true, Percent: 27}}
		return c
	}
	lone := cost("dd-write", "kvm", analyze.NotResolved, 0.3, 0, "")
	lone.Machines, lone.Pooled, lone.Shares = lone.Machines[:1], nil, nil
	lone.LeftOut = []fleet.LeftOut{{Machine: "node2", Why: "the trial sizes are 100 and 5000" + says}}
	g := fleet.Group{Name: "Example 3000, 4 CPUs" + says, Costs: []fleet.Cost{
		cost("sysbench-cpu", "lxc", analyze.None, 0.001, 0.001, ""),
		cost("sysbench-cpu", "kvm", analyze.Costs, 0.05, 0.012, "node5"),
		cost("dd-write", "lxc", analyze.Gains, -0.1, 0.02, ""), cost("untar", "kvm", analyze.Costs, 1.2, 0.2, ""), lone,
	}, Warnings: []string{"a warning" + says}}
	for i := range 6 {
		g.Machines = append(g.Machines, fleet.MachineInfo{Name: fmt.Sprint("node", i+1, says), Type: "Example 3000", Boots: 1,
			Runs: []string{"a.tare" + says, "b.tare"}})
	}
	g.Odd = []fleet.Odd{{Machine: "node5" + says, Costs: []fleet.OddCost{{Workload: "sysbench-cpu", Arm: "kvm", Here: 1.42,
		Without: fleet.Without{Ratio: 1.05, NextLow: 1.01, NextHigh: 1.09}}},
		Facts: []fleet.Fact{{What: "governor", Is: "powersave" + says, Others: "performance", Count: 5, Of: 5}},
		Noise: []doctor.NoiseSource{{What: "swap is in use" + says}}}}
	alone := fleet.Group{Name: "Other 7", Machines: g.Machines[:1], Costs: []fleet.Cost{lone}}
	return &fleet.Result{Name: "racks" + says, Alpha: 0.05, Delta: 0.02, Groups: []fleet.Group{g, alone},
		Warnings: []string{"all" + says}}
}

func renderFleet(t testing.TB, r *fleet.Result) string {
	t.Helper()
	var b bytes.Buffer
	must(t, WriteFleet(&b, r))
	return b.String()
}

// TestFleetPage: the page has what the terminal has, and a plot for each cost.
func TestFleetPage(t *testing.T) {
	whole := renderFleet(t, aFleet(""))
	text := plain(whole)
	for _, want := range []string{"racks", "6 machines.", "One machine says nothing about others of its kind.",
		"none (within ±2 %)", "costs", "gains", "not pooled", "1 of 2", "Odd machines",
		"kvm on sysbench-cpu costs +42.0 % here",
		"governor: powersave; on 5 of 5 others: performance", "tare doctor: swap is in use", "Machines and systems",
		"node2: kvm on dd-write: the trial sizes are 100 and 5000", "The spread between machines is"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
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
}

// TestFleetHostile: text of run files does nothing in the page.
func TestFleetHostile(t *testing.T) {
	const says = "<script>alert(1)</script>\x1b[31m\u202e\"'"
	whole := renderFleet(t, aFleet(says))
	for _, bad := range []string{"<script>", "\x1b", "\u202e"} {
		if strings.Contains(whole, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
}

// TestFleetInBrowser: the page loads nothing, has no errors, fits, and is accessible.
func TestFleetInBrowser(t *testing.T) {
	ctx := pagetest.Browser(t)
	path := filepath.Join(t.TempDir(), "fleet.html")
	must(t, os.WriteFile(path, []byte(renderFleet(t, aFleet(""))), 0o644))
	trouble := &pagetest.Trouble{Page: "file://" + path}
	must(t, trouble.Listen(ctx))
	for _, view := range pagetest.Views {
		t.Run(view.Name, func(t *testing.T) {
			pagetest.Open(t, ctx, view, trouble.Page)
			pagetest.Shot(t, ctx, "fleet-"+view.Name)
			pagetest.Value[int](t, ctx, `[...document.querySelectorAll("details")].map((d) => d.open = true).length`)
			if pagetest.Value[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`) {
				t.Error("the page is wider than the window")
			}
			for _, text := range append(pagetest.Violations(t, ctx), trouble.Take()...) {
				t.Error(text)
			}
		})
	}
}
