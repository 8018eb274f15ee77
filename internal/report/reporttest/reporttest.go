// Package reporttest has a result for tests of packages that show results.
package reporttest

import (
	"fmt"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/model"
)

// Cases is a result with every kind of outcome that a report words, written by hand,
// because no single run has all of them: claims, about these guests only, none, not
// resolved, too coarse, one pair, no control, did not finish, widely spread values,
// stalls, emulated, several guests, ties, and more findings than fit on a screen.
func Cases() *analyze.Result {
	res := &analyze.Result{
		Baseline: "native", Blocks: 24, Planned: 24, Alpha: 0.05, Delta: 0.02,
		Answers: []analyze.Answer{
			{Arm: "qemu-tcg", System: "qemu-tcg", Emulated: true, Workloads: 1,
				Costs: []analyze.Claim{{Workload: "openssl-enc", Metric: "time", Percent: 2945, Low: 2745, High: 3160,
					Ratio: 30.45}}},
			{Arm: "lxc", System: "lxc", Workloads: 5, None: []string{"openssl-enc"}, NoneAtMostPercent: 1.24, AtMostPercent: 7.6,
				Costs: []analyze.Claim{{Workload: "stress-ng-exec", Metric: "rate", Percent: 3.1, Low: 2.2, High: 4, Ratio: 1.031}},
				Open: []analyze.Claim{{Workload: "dd-write", Metric: "cold-time", Percent: 2.3, Low: -2.9, High: 7.6, Ratio: 1.023},
					{Workload: "hackbench-pipe", Metric: "time", Percent: 0.2, Ratio: 1.002},
					{Workload: "cyclictest", Metric: "p99", Percent: 4, Ratio: 1.04}}, Scope: analyze.ScopeGuests,
				AtOnce: &analyze.Answer{Arm: "lxc", System: "lxc", Workloads: 1, Scope: analyze.ScopeGuests,
					Costs: []analyze.Claim{{Workload: "openssl-enc", Metric: analyze.CPUTimeAtOnce, Percent: 1.7, Low: 1.5, High: 1.9,
						Ratio: 1.017}}}},
			{Arm: "runc", System: "runc", Workloads: 3,
				Costs: []analyze.Claim{{Workload: "openssl-enc", Metric: "time", Percent: 4.2, Low: 3, High: 5.4, Ratio: 1.042}},
				Gains: []analyze.Claim{{Workload: "dd-write", Metric: "cold-time", Percent: -12.1, Low: -14, High: -10.2,
					Ratio: 0.879}},
				Open: []analyze.Claim{{Workload: "stress-ng-exec", Metric: "rate", Percent: -1, Low: -6.1, High: 4.3,
					Ratio: 0.99}}, AtMostPercent: 6.1, Scope: analyze.ScopeTheseGuests},
		},
		Rankings: []analyze.Ranking{
			{Workload: "openssl-enc", Metric: "time", Scenario: "solo",
				Places: []analyze.Place{{Rank: 1, Arms: []string{"native", "lxc"}}, {Rank: 3, Arms: []string{"runc"}}}},
			{Workload: "dd-write", Metric: "cold-time", Scenario: "solo",
				Places: []analyze.Place{{Rank: 1, Arms: []string{"runc"}}, {Rank: 2, Arms: []string{"native", "lxc"}}}},
			{Workload: "stress-ng-exec", Metric: "rate", Scenario: "solo",
				Places: []analyze.Place{{Rank: 1, Arms: []string{"runc", "native", "lxc"}}}},
			{Workload: "openssl-enc", Metric: "time", Scenario: "noisy",
				Places: []analyze.Place{{Rank: 1, Arms: []string{"native@noisy"}}, {Rank: 2, Arms: []string{"lxc@noisy"}}}},
		},
		TrialSpread: []analyze.TrialSpread{
			{Workload: "openssl-enc", Metric: "time", Scenario: "solo", Percent: 11.8, Pairs: 24},
			{Workload: "openssl-enc", Metric: "time", Scenario: "noisy", Percent: 31, Pairs: 24},
			{Workload: "dd-write", Metric: "cold-time", Scenario: "solo", Percent: 260, Pairs: 1},
			{Workload: "stress-ng-exec", Metric: "rate", Scenario: "solo", Percent: 4.04, Pairs: 24},
			{Workload: "hackbench-pipe", Metric: "time", Scenario: "solo", Percent: 0.1, Pairs: 24},
			{Workload: "openssl-enc", Metric: analyze.CPUTime, Scenario: "solo", Percent: 2.2, Pairs: 24},
		},
		Tails: []analyze.Tail{
			{Workload: "dd-write", Metric: "cold-time", Unit: "s", Arm: "lxc", Baseline: "native", Factor: 1.5, N: 180, Slow: 12,
				Share: 12. / 180, BaselineN: 360, BaselineSlow: 2, BaselineShare: 2. / 360,
				Difference: 0.0611, Low: 0.0298, High: 0.1085, P: 0.0001, PHolm: 0.0004, More: true, Size: 3.12, BaselineSize: 1.8,
				P95: &analyze.Percentile{Value: 0.0712, Low: 0.0601, High: 0.0806}, BaselineP95: &analyze.Percentile{Value: 0.0242,
					Low: 0.0231, High: 0.0266},
				BaselineP99: &analyze.Percentile{Value: 0.0311, Low: 0.0271, High: 0.0444}},
			{Workload: "openssl-enc", Metric: "time", Unit: "s", Arm: "lxc", Baseline: "native", Factor: 1.5, N: 24,
				BaselineN: 48, BaselineSlow: 1, BaselineShare: 1. / 48,
				Difference: -0.02, Low: -0.11, High: 0.12, P: 1, PHolm: 1, BaselineSize: 1.6},
		},
		Positions: []analyze.Position{{Workload: "openssl-enc", Metric: "time", Percent: 5.2, Low: 3.3, High: 7.1, P: 0.0001,
			PHolm: 0.0005}},
		Thaws: []analyze.Thaw{{Arm: "lxc", System: "lxc", N: 40, Percent: 2.1, Low: 0.9, High: 3.3},
			{Arm: "native", System: "native", N: 40, Percent: 0.2, Low: -0.6, High: 1}},
	}
	arm := func(name, workload string, wide bool, failed int, metrics ...analyze.SeriesSummary) {
		a := analyze.ArmResult{Arm: name, Workload: workload, System: name, Flavor: "small", Scenario: "solo",
			Emulated: name == "qemu-tcg", Failures: failed, Metrics: metrics,
			Probes: []analyze.SeriesSummary{{Name: model.ProbeHostCPU, Unit: "s", N: 24, Min: 0.1, Mean: 0.119, Max: 0.13,
				Median: 0.118}}}
		a.System, a.Scenario = of(name)
		a.Metrics[0].Wide = wide
		res.Arms = append(res.Arms, a)
	}
	series := func(name, unit string, v float64) analyze.SeriesSummary {
		return analyze.SeriesSummary{Name: name, Unit: unit, N: 24, Min: 0.9 * v, Mean: 1.02 * v, Max: 1.4 * v, SD: 0.1 * v,
			P5: 0.95 * v, P25: 0.97 * v, Median: v, P75: 1.05 * v, P95: 1.2 * v, Spread: 1.4 / 0.9}
	}
	wide := series("cold-time", "s", 0.0231)
	wide.Min, wide.P5, wide.P25, wide.P75, wide.P95, wide.Max, wide.Mean, wide.Spread = 0.011, 0.012, 0.0192, 0.0314,
		0.0712, 0.4, 0.0332, 36.4
	for _, a := range []struct {
		name string
		v    float64
	}{{"native", 0.0834}, {"native-control", 0.0836}, {"lxc", 0.0833}, {"runc", 0.0869}, {"qemu-tcg", 2.549},
		{"native@noisy", 0.161}, {"native-control@noisy", 0.164}, {"lxc@noisy", 0.171}} {
		arm(a.name, "openssl-enc", false, 0, series("time", "s", a.v), series(analyze.CPUTime, "s", 0.95*a.v),
			series(analyze.CPUTimeAtOnce, "s", a.v))
	}
	for _, name := range []string{"native", "native-control", "lxc", "runc"} {
		arm(name, "dd-write", name == "lxc", 0,
			map[bool]analyze.SeriesSummary{true: wide, false: series("cold-time", "s", 0.0202)}[name == "lxc"],
			series(analyze.CPUTime, "s", 0.0123))
		arm(name, "stress-ng-exec", false, 0, series("rate", "1/s", 1234))
	}
	for _, name := range []string{"native", "native-control", "lxc", "runc"} {
		arm(name, "hackbench-pipe", false, map[bool]int{true: 3}[name == "runc"], series("time", "s", 0.2))
		if name != "native-control" {
			arm(name, "cyclictest", false, 0, series("p99", "s", 0.0001))
		}
	}
	c := func(workload, metric, name string, percent, low, high float64, verdict analyze.Verdict,
		more ...func(*analyze.Comparison)) {
		_, scenario := of(name)
		base, control := model.ArmName{Of: "native", Scenario: scenario}.String(), strings.HasPrefix(name, "native-control")
		of := analyze.Comparison{Workload: workload, Metric: metric, Unit: res.Arm(base, workload).Metric(metric).Unit,
			Better: "lower", Primary: metric != analyze.CPUTime && metric != analyze.CPUTimeAtOnce,
			Baseline: base, Arm: name, Control: control,
			Family: analyze.FamilyPrimary, BaselineControl: strings.Replace(base, "native", "native-control", 1),
			HasControl: true, N: 24, DistinctGuests: 8, Units: 8, Scope: analyze.ScopeGuests, DF: 7, Phi: 1.3,
			Estimate: claim.Between(1+percent/100, 1+low/100, 1+high/100), OverheadPercent: percent, FartherPercent: high,
			MeanRatio: 1.01 + percent/100, MeanLow: 0.99 + low/100, MeanHigh: 1.04 + high/100,
			Test: claim.Test{P: 0.01, PHolm: 0.02, EquivalenceP: 1, EquivalencePHolm: 1}, Verdict: verdict, Findings: []string{}}
		if -low > high {
			of.FartherPercent = low
		}
		if metric == "rate" {
			of.Better = "higher"
		}
		switch {
		case control:
			of.Family, of.BaselineControl, of.Phi = analyze.FamilyControl, "", 1
		case base != "native":
			of.Family = analyze.FamilyBeside
		case name == "qemu-tcg":
			of.Family = analyze.FamilyEmulated
		case metric == analyze.CPUTime:
			of.Family = analyze.FamilyCPUTime
		case metric == analyze.CPUTimeAtOnce:
			of.Family = analyze.FamilyAtOnce
		}
		for _, change := range more {
			change(&of)
		}
		res.Comparisons = append(res.Comparisons, of)
	}
	of := func(scope analyze.Scope, n int) func(*analyze.Comparison) {
		return func(c *analyze.Comparison) {
			c.Scope, c.Units, c.N, c.DistinctGuests = scope, n, n,
				map[bool]int{true: 1, false: n}[scope == analyze.ScopeTheseGuests]
		}
	}
	doubt := func(ids ...string) func(*analyze.Comparison) {
		return func(c *analyze.Comparison) { c.Findings = ids }
	}
	nothing := func(n int) func(*analyze.Comparison) {
		return func(c *analyze.Comparison) {
			c.N, c.Units, c.Scope, c.DF, c.Interval, c.FartherPercent, c.MeanRatio, c.MeanLow, c.MeanHigh = n, n, "", 0, nil,
				0, 0, 0, 0
			if n == 0 {
				c.Ratio, c.OverheadPercent = 0, 0
			}
		}
	}
	lone := func(c *analyze.Comparison) { c.HasControl, c.BaselineControl, c.Phi = false, "", 1 }
	steady := func(c *analyze.Comparison) { c.Phi = 1 }

	c("openssl-enc", "time", "lxc", -0.12, -1.24, 1.1, analyze.None)
	c("openssl-enc", "time", "runc", 4.2, 3, 5.4, analyze.Costs, of(analyze.ScopeTheseGuests, 10))
	c("openssl-enc", "time", "qemu-tcg", 2945, 2745, 3160, analyze.Costs)
	c("openssl-enc", "time", "lxc@noisy", 6.1, 3.9, 8.4, analyze.Costs)
	c("openssl-enc", "time", "native-control", 0.24, -0.3, 0.8, analyze.NotResolved)
	c("openssl-enc", "time", "native-control@noisy", 1.8, -1.3, 5.1, analyze.NotResolved)
	c("openssl-enc", analyze.CPUTime, "lxc", 0.4, -2.2, 3.1, analyze.NotResolved)
	c("openssl-enc", analyze.CPUTime, "runc", 0.1, -0.5, 0.7, analyze.None, of(analyze.ScopeTheseGuests, 10))
	c("openssl-enc", analyze.CPUTime, "qemu-tcg", 3010, 2940, 3080, analyze.Costs)
	c("openssl-enc", analyze.CPUTime, "native-control", 0.1, -0.3, 0.5, analyze.NotResolved)
	c("openssl-enc", analyze.CPUTimeAtOnce, "lxc", 1.7, 1.5, 1.9, analyze.Costs, steady)
	c("openssl-enc", analyze.CPUTimeAtOnce, "runc", 2.1, 1.6, 2.6, analyze.NotResolved, doubt("duet-differs"),
		func(c *analyze.Comparison) { c.Overruled = true })
	c("openssl-enc", analyze.CPUTimeAtOnce, "native-control", 0.05, -0.1, 0.2, analyze.NotResolved)
	c("dd-write", "cold-time", "lxc", 2.3, -2.9, 7.6, analyze.NotResolved, func(c *analyze.Comparison) { c.Wide = true })
	c("dd-write", "cold-time", "runc", -12.1, -14, -10.2, analyze.Gains, doubt("cached-writes", "faster-than-baseline"))
	c("dd-write", "cold-time", "native-control", 0.9, -8, 10, analyze.NotResolved)
	c("dd-write", analyze.CPUTime, "lxc", 5.1, 3.3, 6.9, analyze.Costs)
	c("dd-write", analyze.CPUTime, "runc", -3.3, -4, -2.6, analyze.Gains)
	c("stress-ng-exec", "rate", "lxc", 3.1, 2.2, 4, analyze.Costs, steady)
	c("stress-ng-exec", "rate", "runc", -1, -6.1, 4.3, analyze.NotResolved, steady)
	c("stress-ng-exec", "rate", "native-control", 0.1, -1, 1.2, analyze.NotResolved)
	c("hackbench-pipe", "time", "lxc", 0.2, 0.2, 0.2, analyze.NotResolved, steady,
		func(c *analyze.Comparison) { c.Coarse = true })
	c("hackbench-pipe", "time", "runc", 0, 0, 0, analyze.NotResolved, nothing(0))
	c("hackbench-pipe", "time", "native-control", 0, 0, 0, analyze.NotResolved)
	c("cyclictest", "p99", "lxc", 4, 0, 0, analyze.NotResolved, nothing(1), lone)
	c("cyclictest", "p99", "runc", 7, -4, 19, analyze.NotResolved, lone)

	in := func(base string, iso analyze.Isolation) {
		for _, c := range res.Comparisons {
			if c.Arm == "lxc@noisy" {
				iso.Comparison = c
			}
		}
		iso.Arm, iso.Baseline, iso.Family, iso.Estimate, iso.OverheadPercent, iso.FartherPercent = base+"@noisy", base,
			analyze.FamilyIsolation, claim.Between(2.05, 1.98, 2.12), 105, 112
		res.Isolation = append(res.Isolation, iso)
	}
	in("native", analyze.Isolation{Scenario: "noisy", Guests: 1, Neighbours: []string{"cpu"}, Trials: 24})
	in("lxc", analyze.Isolation{Scenario: "noisy", Guests: 1, Neighbours: []string{"cpu"}, NativeArm: "native@noisy",
		Native: 1.93, Excess: 1.06, Trials: 24})

	res.IsolationMatrix = matrix()
	attack := func(a model.Attack) { res.Attacks = append(res.Attacks, analyze.Attack{Attack: a, Held: a.Held()}) }
	for _, arm := range []string{"native", "lxc"} {
		attack(model.Attack{Arm: arm, System: arm, On: model.AttackMemory, Limit: 512 << 20, Took: 512 << 20, Stopped: true,
			Alone: 0.05, Beside: 0.06})
		attack(model.Attack{Arm: arm, System: arm, On: model.AttackProcesses, Limit: 4096, Took: 2833, Died: arm == "lxc",
			Stopped: true, Alone: 0.05, Beside: 0.1})
	}
	attack(model.Attack{Arm: "runc", System: "runc", On: model.AttackMemory, Limit: 512 << 20, Took: 2 << 30, Alone: 0.05,
		Lost: "the guest died"})
	attack(model.Attack{Arm: "runc", System: "runc", On: model.AttackDisk, Limit: 1 << 30, Took: 100 << 20, Alone: 0.05,
		Beside: 0.05})

	res.Curves = append(curves("dd-write", "rate", "block", "B", true, 4096),
		curves("hackbench-pipe", "time", "groups", "", false, 1)...)

	finding := func(severity analyze.Severity, id, workload, arm, text string) {
		res.Findings = append(res.Findings, analyze.Finding{ID: id, Severity: severity, Workload: workload, Arm: arm,
			Text: text, Remedy: analyze.KindOf(id).Remedy})
	}
	finding(analyze.Serious, "emulated", "", "qemu-tcg",
		"ran on an emulated machine: its timings say nothing about real hardware")
	finding(analyze.Serious, "cached-writes", "dd-write", "runc",
		"98 % of what the workload wrote never reached the device in its trial: 28.38 of 1408 MiB did, the flush included")
	finding(analyze.Warning, "did-not-finish", "hackbench-pipe", "runc",
		"3 trials did not finish because of the guest, which is a result in itself; the first, in block 3: \x1b[31mno room")
	finding(analyze.Warning, "no-control", "cyclictest", "",
		"there are no A/A pairs, so how much this host varies by itself is unknown and no cost or gain is claimed")
	finding(analyze.Warning, "spread", "dd-write", "lxc", "the 95th percentile is 5.93 times the 5th (limit 4)")
	finding(analyze.Warning, "spread", "cyclictest", "lxc", "the 95th percentile is 4.41 times the 5th (limit 4)")
	finding(analyze.Warning, "spread", "cyclictest", "runc", "the 95th percentile is 4.1 times the 5th (limit 4)")
	finding(analyze.Warning, "faster-than-baseline", "dd-write", "runc",
		"runc is faster than native: -12.1 % (95 % interval -14 … -10.2 %, 24 pairs); first ask what was cached")
	for i := range 12 {
		finding(analyze.Warning, "other-load", fmt.Sprintf("w%d", i), "", "0.9 CPUs were busy with something else")
	}
	finding(analyze.Warning, "hidden-cpu", "openssl-enc", "lxc",
		"the guest does not account for 0.0796 s of CPU time per trial")
	finding(analyze.Info, "steal", "", "", "2.1 % of the time of the host's CPUs was taken away")
	finding(analyze.Info, "guests-differ", "openssl-enc", "lxc",
		"its guests differ from each other (8 of them, F test, adjusted p = 0.002)")
	res.Findings = append(res.Findings, analyze.Finding{ID: "no-variation", Severity: analyze.Warning,
		Workload: "openssl-enc", Metric: "other", Arm: "lxc", Text: "of a metric that is not shown"})
	return res
}

// of takes the name of an arm apart.
func of(arm string) (of, scenario string) {
	of, scenario, ok := strings.Cut(arm, "@")
	if !ok {
		scenario = model.Solo
	}
	return of, scenario
}

// matrix is an isolation matrix with a cell of every kind.
func matrix() (cells []analyze.IsolationCell) {
	c := func(arm, scenario string, excess *analyze.Excess, change ...func(*analyze.IsolationCell)) {
		cell := analyze.IsolationCell{Arm: arm + "@" + scenario, Of: arm, Alone: arm, NativeArm: "native@" + scenario,
			Scenario: scenario, Neighbours: []string{"cpu"}, Excess: excess, Trials: 48}
		if scenario == "disk" {
			cell.Neighbours = []string{"disk"}
		}
		for _, change := range change {
			change(&cell)
		}
		cells = append(cells, cell)
	}
	excess := func(workload string, ratio, low, high float64, verdict analyze.Verdict) *analyze.Excess {
		return &analyze.Excess{Workload: workload, Metric: "time", Workloads: 2, Estimate: claim.Between(ratio, low, high),
			P: 0.01, PHolm: 0.04, Verdict: verdict, Units: 8, Scope: analyze.ScopeGuests}
	}
	c("lxc", "noisy", excess("openssl-enc", 1.06, 0.98, 1.14, analyze.NotResolved))
	c("runc", "noisy", excess("dd-write", 0.91, 0.86, 0.97, analyze.Gains),
		func(c *analyze.IsolationCell) { c.Excess.Scope, c.Lost = analyze.ScopeTheseGuests, 3 })
	c("qemu-tcg", "noisy", excess("dd-write", 3.2, 2.8, 3.6, analyze.NotResolved),
		func(c *analyze.IsolationCell) { c.Emulated = true })
	c("lxc", "disk", excess("dd-write", 1.82, 1.61, 2.06, analyze.Costs),
		func(c *analyze.IsolationCell) {
			c.P99, c.Missing = excess("dd-write", 14.2, 9.7, 20.8, analyze.Costs), []string{"cyclictest"}
		})
	c("runc", "disk", excess("dd-write", 1.02, 0.97, 1.07, analyze.NotResolved),
		func(c *analyze.IsolationCell) { c.Idle = []string{"dd-write", "openssl-enc"} })
	c("qemu-tcg", "disk", nil, func(c *analyze.IsolationCell) {
		c.Emulated, c.Lost, c.Missing, c.Unfinished = true, 48, []string{"dd-write"}, []string{"dd-write"}
	})
	return cells
}

// curves are those of native and of lxc, from a first value of the parameter on: lxc costs half at it, and a quarter as
// much at each next one.
func curves(workload, name, parameter, in string, within bool, first float64) []analyze.Curve {
	native := analyze.Curve{Workload: workload, Name: name, Unit: "B/s", Better: "higher", Primary: true,
		Parameter: parameter, In: in, Within: within, Arm: "native", Scenario: "solo"}
	if name == "time" {
		native.Unit, native.Better = "s", "lower"
	}
	lxc := native
	lxc.Arm, lxc.Baseline = "lxc", "native"
	lxc.Agreement = &claim.Agreement{Within: 0.05, From: 16 * first, After: 4 * first, Latest: 16 * first}
	at, cost := first, 0.5
	for i := range 5 {
		v := 1e6 * math.Pow(3.7, float64(i))
		if name == "time" {
			v = 0.2 + 0.03*float64(i)
		}
		by := 1 + cost
		if native.Better == "higher" {
			by = 1 / by
		}
		native.Points = append(native.Points, analyze.CurvePoint{At: at, N: 24, Value: v, Low: 0.98 * v, High: 1.03 * v})
		p := analyze.CurvePoint{At: at, N: 24, Value: v * by, Low: 0.97 * v * by, High: 1.04 * v * by,
			Cost: &analyze.PointCost{Estimate: claim.Between(1+cost, 0.985+cost, 1.015+cost), Verdict: analyze.NotResolved,
				Test: claim.Untested(), Units: 8, Scope: analyze.ScopeGuests}}
		if cost > 0.02 {
			p.Cost.Verdict = analyze.Costs
		}
		lxc.Points = append(lxc.Points, p)
		at, cost = 4*at, cost/4
	}
	return []analyze.Curve{native, lxc}
}
