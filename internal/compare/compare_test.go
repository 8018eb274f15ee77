package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// costing is a usual run in which lxc costs that many times as much.
func costing(name string, lxc float64) truth {
	u := usual(name)
	u.cost = map[string]float64{"lxc": lxc}
	return u
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, by)
	}
}

func TestChangeOfOverhead(t *testing.T) {
	for _, higher := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		a, b := costing("a", 1.09), costing("b", 1.20)
		a.higher, b.higher = higher, higher
		before, after := a.run(t, random), b.run(t, random)
		c := compared(t, Alone(before, after)...)
		o := c.Against[0].of(t, "sysbench-cpu", "lxc")
		if o.Verdict != Worse || o.Scope != TheseRuns || o.CILow > 1.20/1.09 || o.CIHigh < 1.20/1.09 || o.PHolm < o.P {
			t.Errorf("higher is better: %v: %+v", higher, o)
		}
		near(t, "the ratio", o.Ratio, 1.20/1.09, 0.005)
		near(t, "before", o.Before, 1.09, 0.005)
		near(t, "after", o.After, 1.20, 0.005)
		near(t, "the farther end", o.FartherPercent, 100*(o.CIHigh-1), 1e-9)
		if o.NBefore != 8 || o.NAfter != 8 {
			t.Errorf("%d and %d guests of 8", o.NBefore, o.NAfter)
		}
		if same := c.Against[0].of(t, "sysbench-cpu", "runc"); same.Verdict != Same {
			t.Errorf("runc costs the same in both: %+v", same)
		}
		if len(c.Above(0.05)) != 1 || len(c.Above(0.15)) != 0 {
			t.Errorf("above 5 %%: %d, above 15 %%: %d", len(c.Above(0.05)), len(c.Above(0.15)))
		}
		back := compared(t, Alone(after, before)...)
		if o := back.Against[0].of(t, "sysbench-cpu", "lxc"); o.Verdict != Better || o.ChangePercent > 0 ||
			o.FartherPercent > o.ChangePercent {
			t.Errorf("the other way round: %+v", o)
		}
		if len(back.Above(0)) != 0 {
			t.Error("what is better is above the limit")
		}
	}
}

// TestMachine: a machine that is a third slower changes no overhead, and is reported.
func TestMachine(t *testing.T) {
	for _, higher := range []bool{false, true} {
		random := rand.New(rand.NewPCG(3, 4))
		a, b := costing("a", 1.09), costing("b", 1.09)
		a.higher, b.higher, b.machine = higher, higher, 1.3
		one := compared(t, Alone(a.run(t, random), b.run(t, random))...)
		if o := one.Against[0].of(t, "sysbench-cpu", "lxc"); o.Verdict != Same {
			t.Errorf("the overhead is the same on both: %+v", o)
		}
		n := one.Against[0].of(t, "sysbench-cpu", "native")
		near(t, "native's change", n.ChangePercent, 30, 1)
		if n.Verdict != Shown || n.Interval != nil || len(one.Above(0.05)) != 0 {
			t.Errorf("with one run per side, native is shown and not judged: %+v", n)
		}
		three := compared(t, a.side(t, random, 3), b.side(t, random, 3))
		n = three.Against[0].of(t, "sysbench-cpu", "native")
		if n.Verdict != Worse || n.Scope != System || len(three.Above(0.05)) != 1 ||
			n.words() != "the machine changed: worse" {
			t.Errorf("with three boots per side, native is worse: %+v", n)
		}
	}
}

// TestInCompany: what an arm costs beside other guests is against the baseline in
// the same scenario; its slowdown is another figure.
func TestInCompany(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	with := func(name string, lxc, four float64) *Run {
		u := costing(name, 1.09)
		u.several = true
		u.cost = map[string]float64{"lxc": 1.09, "native@four": four, "native-control@four": four, "runc@four": four,
			"lxc@four": four * lxc}
		return u.run(t, random)
	}
	a := compared(t, Alone(with("a", 1.2, 2), with("b", 1.4, 3))...).Against[0]
	o := a.of(t, "sysbench-cpu", "lxc@four")
	near(t, "before", o.Before, 1.2, 0.02)
	near(t, "after", o.After, 1.4, 0.02)
	if o.Verdict != Worse || o.Family != analyze.FamilyBeside {
		t.Errorf("lxc beside others: %+v", o)
	}
	near(t, "native beside others, its change", a.of(t, "sysbench-cpu", "native@four").ChangePercent, 50, 2)
	if len(a.Changes) != 4 || len(a.Baselines) != 2 {
		t.Errorf("%d changes and %d baselines", len(a.Changes), len(a.Baselines))
	}
}

// TestBoots: "the system changed" takes three boots per side, whatever the number of
// runs.
func TestBoots(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	side := func(lxc float64, boots ...string) Side {
		s := Side{Name: "side"}
		for _, b := range boots {
			u := costing("run", lxc)
			u.boots = strings.Fields(b)
			s.Runs = append(s.Runs, u.run(t, random))
		}
		return s
	}
	for _, c := range []struct {
		before, after []string
		scope         Scope
		n             int // of the second side
	}{
		{[]string{"1"}, []string{"2"}, TheseRuns, 8},
		{[]string{"1", "2"}, []string{"3", "4"}, TheseRuns, 16},
		{[]string{"1", "1", "1"}, []string{"2", "2", "2"}, TheseRuns, 3},
		{[]string{"1", "2", "3"}, []string{"4", "4", "4", "5"}, TheseRuns, 4},
		{[]string{"1", "2", "3"}, []string{"4", "5", "6"}, System, 3},
		{[]string{"1", "2", "3"}, []string{"4", "4", "5", "6", "6"}, System, 3},
		{[]string{"1", "2", "3"}, []string{"4 5", "5 6", "6", "7"}, TheseRuns, 4}, // resumed runs join boots
		{[]string{"1", "2", "3"}, []string{"4"}, TheseRuns, 8},
	} {
		a := compared(t, side(1.05, c.before...), side(1.15, c.after...)).Against[0]
		o := a.of(t, "sysbench-cpu", "lxc")
		if o.Scope != c.scope || a.Scope != c.scope || o.NAfter != c.n || o.Verdict != Worse {
			t.Errorf("boots %v against %v: %s of %d, %s", c.after, c.before, o.Scope, o.NAfter, o.Verdict)
		}
		if words := o.words(); strings.Contains(words, "changed") != (c.scope == System) {
			t.Errorf("boots %v against %v: %q", c.after, c.before, words)
		}
	}
	// In a campaign with boots, the units of a run are boots already.
	a, b := costing("a", 1.05), costing("b", 1.15)
	a.rounds, b.rounds = true, true
	if o := compared(t, Alone(a.run(t, random), b.run(t, random))...).Against[0].of(t, "sysbench-cpu",
		"lxc"); o.Scope != System || o.Verdict != Worse {
		t.Errorf("rounds of boots: %+v", o)
	}
}

// TestFewGuests: with too few guests, the text says that single ones may decide.
func TestFewGuests(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for lives, few := range map[int]bool{0: true, 20: true, 5: false} {
		u := costing("a", 1.05)
		u.lives = lives
		a := compared(t, Alone(u.run(t, random), u.run(t, random))...).Against[0]
		if a.FewGuests != few || strings.Contains(a.Reach(), "single guest") != few {
			t.Errorf("guests that live %d blocks of 40: few is %v", lives, a.FewGuests)
		}
	}
}

// TestRunsAreAveraged: two runs per side resolve more than one.
func TestRunsAreAveraged(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 5))
	width := func(runs int) float64 {
		u := many()
		u.name = "a"
		sum := 0.0
		for range 20 {
			for _, o := range compared(t, u.side(t, random, runs), u.side(t, random, runs)).Against[0].Changes {
				sum += math.Log(o.CIHigh / o.CILow)
			}
		}
		return sum
	}
	if ratio := width(1) / width(2); ratio < 1.2 || ratio > 1.8 {
		t.Errorf("one run's interval is %.2f times as wide as that of two", ratio)
	}
}

// TestSizes: trials of different sizes are compared for the same work if that is
// possible; otherwise only that workload is left out.
func TestSizes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	of := func(name, workload string, size int64) *Run {
		u := costing(name, 1.09)
		u.workloads, u.size = []string{workload, "openssl-enc"}, map[string]int64{workload: size}
		return u.run(t, random)
	}
	for _, c := range []struct {
		workload string
		size     int64
		why      string
	}{
		{"sysbench-cpu", 100, ""}, {"sysbench-cpu", 105, ""}, {"sysbench-cpu", 160, ""},
		{"sysbench-cpu", 170, "the trial sizes are 100 and 170 events, more than 1.6 times apart"},
		{"kernel-build", 105, "some files of the kernel take much longer"},
		{"of my own", 105, "it is not known whether the time is proportional"},
	} {
		against := compared(t, Alone(of("a", c.workload, 100), of("b", c.workload, c.size))...).Against[0]
		o, n := against.of(t, c.workload, "lxc"), against.of(t, c.workload, "native")
		if c.why != "" {
			if o.Verdict != NotCompared || n.Verdict != NotCompared || !strings.Contains(o.Why, c.why) || o.Interval != nil {
				t.Errorf("%s of %d: %+v", c.workload, c.size, o)
			}
		} else {
			if o.Verdict != Same {
				t.Errorf("%s of %d: the overhead is the same: %+v", c.workload, c.size, o)
			}
			near(t, "native's change for the same work", n.ChangePercent, 0, 1)
			if (n.Per == "100 events") != (c.size != 100) {
				t.Errorf("%s of %d: native is told for %q", c.workload, c.size, n.Per)
			}
		}
		if other := against.of(t, "openssl-enc", "lxc"); other.Verdict != Same {
			t.Errorf("the other workload: %+v", other)
		}
		if told := len(against.Differences) > 0 &&
			strings.HasPrefix(against.Differences[0].What, "trials of "+c.workload); told != (c.size != 100) {
			t.Errorf("%s of %d: %v", c.workload, c.size, against.Differences)
		}
	}
	// A rate is as it is whatever the size.
	a, b := costing("a", 1.09), costing("b", 1.09)
	a.higher, b.higher = true, true
	before, after := a.run(t, random), b.run(t, random)
	after.sizes["sysbench-cpu"] = store.Size{Workload: "sysbench-cpu", Size: 150, Unit: "events"}
	n := compared(t, Alone(before, after)...).Against[0].of(t, "sysbench-cpu", "native")
	near(t, "a rate's change", n.ChangePercent, 0, 1)
	if n.Per != "" {
		t.Errorf("a rate is told for %q", n.Per)
	}
}

func TestNothingIsClaimed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	other := func(change func(*truth)) *Run {
		u := costing("b", 1.5)
		change(&u)
		return u.run(t, random)
	}
	elsewhere := other(func(*truth) {})
	kvm := elsewhere.arms["native"]
	kvm.System = "kvm"
	elsewhere.arms["native"] = kvm
	doubted := other(func(*truth) {})
	k := analyze.CostOf{Workload: "sysbench-cpu", Metric: "time", Arm: "lxc"}
	c := doubted.comparisons[k]
	c.Findings = append(c.Findings, "control-differs")
	doubted.comparisons[k] = c
	doubted.Result.Findings = append(doubted.Result.Findings,
		analyze.Finding{ID: "control-differs", Severity: analyze.Serious, Workload: "sysbench-cpu"})
	missing := other(func(*truth) {})
	delete(missing.comparisons, k)
	a := costing("a", 1.09).run(t, random)
	for why, c := range map[string]struct {
		b       *Run
		verdict Verdict
	}{
		"b has too few blocks":         {other(func(u *truth) { u.blocks = 2 }), NotCompared},
		"one side has no values":       {missing, NotCompared},
		"b has no control":             {other(func(u *truth) { u.alone = true }), NotCompared},
		"emulated":                     {other(func(u *truth) { u.emulated = true }), NotResolved},
		"step is coarser":              {other(func(u *truth) { u.cv = 0 }), NotResolved},
		"a serious finding in b: con":  {doubted, NotResolved},
		"the baseline is another syst": {elsewhere, NotCompared},
	} {
		got := compared(t, Alone(a, c.b)...).Against[0].Changes[0]
		if got.Arm != "lxc" || got.Verdict != c.verdict || !strings.Contains(got.Why, why) {
			t.Errorf("%s: %s, %q", why, got.Verdict, got.Why)
		}
	}
}

// TestUnguarded: if the controls give no estimate of how much varies without a
// change, nothing is claimed, however large a change is.
func TestUnguarded(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 5))
	a, b := costing("a", 1.05), costing("b", 2)
	a.blocks, b.blocks = 3, 3
	before, after := a.run(t, random), b.run(t, random)
	k := analyze.CostOf{Workload: "sysbench-cpu", Metric: "time", Arm: "native-control"}
	c := after.comparisons[k]
	c.StdErr *= 100 // so that all of the contrast's 2 degrees of freedom are of this side
	after.comparisons[k] = c
	o := compared(t, Alone(before, after)...).Against[0].of(t, "sysbench-cpu", "lxc")
	if o.Verdict != NotResolved || !strings.Contains(o.Why, "the controls have too few blocks") || o.P > 0.01 {
		t.Errorf("%+v", o)
	}
}

// TestOpenIsBounded: whatever is not resolved comes with a bound.
func TestOpenIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 6))
	open := 0
	for range 20 {
		u := many()
		u.blocks, u.cv = 15, 0.05
		a, b := u, u
		a.name, b.name = "a", "b"
		against := compared(t, Alone(a.run(t, random), b.run(t, random))...).Against[0]
		for _, ch := range against.Changes {
			if ch.Verdict != NotResolved {
				continue
			}
			open++
			words := ch.words()
			if !strings.HasPrefix(words, "not resolved, at most ") || math.Abs(ch.FartherPercent) < math.Abs(ch.ChangePercent) ||
				ch.FartherPercent < 100*(ch.CILow-1)-1e-9 {
				t.Errorf("%q: %+v", words, ch)
			}
		}
	}
	if open < 100 {
		t.Errorf("only %d were open", open)
	}
}

func TestNothingInCommon(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	a, b := usual("a"), usual("b")
	b.higher = true
	if _, err := Sides(Alone(a.run(t, random), b.run(t, random)), false); err == nil {
		t.Error("no error")
	}
	if _, err := Sides(Alone(a.run(t, random)), false); err == nil {
		t.Error("one run: no error")
	}
}

// TestDifferences: differences come in the order of their importance.
func TestDifferences(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 11))
	before, after := usual("a").run(t, random), usual("b").run(t, random)
	if d := compared(t, Alone(before, after)...).Against[0].Differences; d != nil {
		t.Errorf("of equal runs: %v", d)
	}
	arm := after.arms["lxc"]
	arm.Size.VCPUs, arm.Size.CPUs = 2, model.CPUList{0, 1}
	after.arms["lxc"] = arm
	after.sizes["sysbench-cpu"] = store.Size{Workload: "sysbench-cpu", Size: 105, Unit: "events (of some kind)"}
	after.facts = [][2]string{{"kernel", "6.5"}, {"tare", "1"}, {"versions of lxc", "5.0"}}
	after.plain = append(after.plain, "kvm")
	before.packages = map[string]string{"fio": "3.33", "openssl": "3.0.11", "gone": "1", "sysbench": "0.4.12"}
	after.packages = map[string]string{"fio": "3.34", "openssl": "3.0.12", "new": "1", "sysbench": "1.0.20"}
	var got []string
	for _, d := range compared(t, Alone(before, after)...).Against[0].Differences {
		got = append(got, d.String())
	}
	want := []string{
		"trials of sysbench-cpu: 100 events → 105 events (compared for the same work)",
		"guests of lxc: 1 vCPU, 512MiB of memory, 1GiB of ext4 on loop → 2 vCPUs, on CPUs 0-1, 512MiB of memory, 1GiB of " +
			"ext4 on loop",
		"arms: native, lxc, runc → native, lxc, runc, kvm",
		"kernel: 6.1 → 6.5",
		"versions of lxc: unknown → 5.0",
		"version of sysbench: 0.4.12 → 1.0.20 (figures of its versions may not be comparable)",
		"packages of the image: fio 3.33 → fio 3.34 (and 1 more)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	// Differences between the runs of one side are reported, too.
	mixed := Side{Name: "mixed", Runs: []*Run{before, after}}
	if d := compared(t, mixed, mixed).Against[0].Differences; !slices.Contains(d,
		Difference{"kernel", "6.1 and 6.5", "6.1 and 6.5", ""}) {
		t.Errorf("of a mixed side: %v", d)
	}
}
