package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// sim is a run of known truth.
type sim struct {
	name     string
	blocks   int
	native   float64            // seconds, or the reciprocal
	cost     map[string]float64 // by arm
	cv       float64
	better   string
	guests   int32 // blocks that one guest lives; 0: all
	emulated bool
	alone    bool // no control
	company  bool // and four at once, where all are slower
}

func (s sim) run(t testing.TB, random *rand.Rand) *Run {
	t.Helper()
	in := analyze.Input{Baseline: "native", Delta: 0.02, Controls: map[string]string{"native-control": "native"},
		Arms:    []analyze.Arm{{Name: "native", System: "native"}, {Name: "kvm", System: "kvm", Emulated: s.emulated}, {Name: "native-control", System: "native"}},
		Metrics: []analyze.Metric{{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}}}
	if s.better == "higher" {
		in.Metrics[0] = analyze.Metric{Workload: "cpu", Name: "rate", Unit: "1/s", Better: "higher", Primary: true}
	}
	if s.alone {
		in.Controls, in.Arms = nil, in.Arms[:2]
	}
	if s.company {
		in.Arms = append(in.Arms, analyze.Arm{Name: "native@four", System: "native", Scenario: "four", Baseline: "native@four"},
			analyze.Arm{Name: "kvm@four", System: "kvm", Scenario: "four", Baseline: "native@four"},
			analyze.Arm{Name: "native-control@four", System: "native", Scenario: "four", Baseline: "native@four"})
		in.Controls["native-control@four"] = "native@four"
	}
	var all []analyze.Observation
	for b := range int32(s.blocks) {
		for i, a := range in.Arms {
			cost := 1.0
			if c, ok := s.cost[a.Name]; ok {
				cost = c
			}
			v := s.native * cost * math.Exp(s.cv*random.NormFloat64())
			if s.better == "higher" {
				v = 1 / v
			}
			epoch := int32(0)
			if s.guests > 0 {
				epoch = b / s.guests
			}
			all = append(all, analyze.Observation{Metric: 0, Arm: int32(i), Block: b, Epoch: epoch*10 + int32(i), Value: v})
		}
	}
	in.Observations = func(yield func(analyze.Observation, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
	in.ProbeObservations = func(func(analyze.Observation, error) bool) {}
	r, err := fromInput(s.name, in)
	if err != nil {
		t.Fatal(err)
	}
	r.facts = [][2]string{{"kernel", s.name}}
	return r
}

func compared(t testing.TB, all bool, runs ...*Run) *Comparison {
	t.Helper()
	c, err := Runs(runs, all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t testing.TB, c *Comparison, kind Kind) Change {
	t.Helper()
	for _, ch := range c.Changes {
		if ch.Kind == kind {
			return ch
		}
	}
	t.Fatalf("no change of kind %s", kind)
	return Change{}
}

func usual(name string, kvm float64) sim {
	return sim{name: name, blocks: 20, native: 0.25, cost: map[string]float64{"kvm": kvm}, cv: 0.005}
}

func TestChangeOfOverhead(t *testing.T) {
	for _, better := range []string{"lower", "higher"} {
		random := rand.New(rand.NewPCG(1, 2))
		a, b := usual("a", 1.09), usual("b", 1.20)
		a.better, b.better = better, better
		c := compared(t, false, a.run(t, random), b.run(t, random))
		o := find(t, c, Overhead)
		if o.Verdict != Worse || math.Abs(o.Ratio-1.20/1.09) > 0.01 || o.CILow > 1.20/1.09 || o.CIHigh < 1.20/1.09 {
			t.Errorf("%s is better: %+v", better, o)
		}
		if math.Abs(o.Before-1.09) > 0.01 || math.Abs(o.After-1.20) > 0.01 {
			t.Errorf("%s is better: from %v to %v", better, o.Before, o.After)
		}
		if n := find(t, c, Native); n.Verdict == Worse || n.Verdict == Better {
			t.Errorf("%s is better: the native figure did not change: %+v", better, n)
		}
		if len(c.Above(0.05)) != 1 || len(c.Above(0.15)) != 0 {
			t.Errorf("above 5 %%: %d, above 15 %%: %d", len(c.Above(0.05)), len(c.Above(0.15)))
		}
		back := find(t, compared(t, false, b.run(t, random), a.run(t, random)), Overhead)
		if back.Verdict != Better || back.ChangePercent > 0 {
			t.Errorf("the other way round: %+v", back)
		}
	}
}

// TestChangeInCompany: what an arm costs in company is against the baseline in
// the same company: its slowdown is another figure.
func TestChangeInCompany(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	with := func(name string, kvm, four float64) *Run {
		s := usual(name, 1.09)
		s.company = true
		s.cost = map[string]float64{"kvm": 1.09, "native@four": four, "native-control@four": four, "kvm@four": four * kvm}
		return s.run(t, random)
	}
	c := compared(t, false, with("a", 1.2, 2), with("b", 1.4, 3))
	got := map[string]Change{}
	for _, ch := range c.Changes {
		got[ch.Arm] = ch
	}
	if k := got["kvm@four"]; k.Kind != Overhead || math.Abs(k.Before-1.2) > 0.02 || math.Abs(k.After-1.4) > 0.02 || k.Verdict != Worse || k.NoisePercent == 0 {
		t.Errorf("kvm in company: %+v", k)
	}
	if n := got["native@four"]; n.Kind != Native || math.Abs(n.Ratio-1.5) > 0.02 || n.Verdict != Worse {
		t.Errorf("native in company: %+v", n)
	}
	if len(c.Changes) != 4 {
		t.Errorf("%d changes: %v", len(c.Changes), slices.Collect(maps.Keys(got)))
	}
}

func TestChangeOfMachine(t *testing.T) {
	for _, better := range []string{"lower", "higher"} {
		random := rand.New(rand.NewPCG(3, 4))
		a, b := usual("a", 1.09), usual("b", 1.09)
		b.native *= 1.3 // slower
		a.better, b.better = better, better
		c := compared(t, false, a.run(t, random), b.run(t, random))
		if n := find(t, c, Native); n.Verdict != Worse || math.Abs(n.ChangePercent-30) > 2 {
			t.Errorf("%s is better: %+v", better, n)
		}
		if o := find(t, c, Overhead); o.Verdict != Same {
			t.Errorf("%s is better: the overhead is the same on both machines: %+v", better, o)
		}
	}
}

func TestNothingIsClaimed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	other := func(change func(*sim)) *Run {
		s := usual("b", 1.5)
		change(&s)
		return s.run(t, random)
	}
	a := usual("a", 1.09).run(t, random)
	resized := other(func(s *sim) { s.native = 1 })
	resized.sizes = map[string]int64{"cpu": 7}
	for why, c := range map[string]struct {
		b    *Run
		kind Kind
	}{
		"one value":       {other(func(s *sim) { s.blocks = 1 }), Overhead},
		"emulated":        {other(func(s *sim) { s.emulated = true }), Overhead},
		"noise unknown":   {other(func(s *sim) { s.alone = true }), Overhead},
		"another size":    {resized, Native},
		"too far apart":   {other(func(s *sim) { s.cv = 1 }), Overhead},
		"no values in on": {other(func(s *sim) { s.blocks = 0 }), Native},
	} {
		got := find(t, compared(t, false, a, c.b), c.kind)
		if got.Verdict != NotResolved || !strings.Contains(got.Why, why) {
			t.Errorf("%s: %s, %q", why, got.Verdict, got.Why)
		}
	}
}

// TestSimFalseClaims: runs of the same thing must not differ.
func TestSimFalseClaims(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const n = 400
	claims, p := 0, 0
	for range n {
		a, b := usual("a", 1.09), usual("b", 1.09)
		a.cv, b.cv = 0.03, 0.03
		c := compared(t, false, a.run(t, random), b.run(t, random))
		for _, ch := range c.Changes {
			if ch.Verdict == Worse || ch.Verdict == Better {
				claims++
			}
			if ch.PHolm < c.Alpha {
				p++
				break
			}
		}
	}
	if claims > 2 || p > n/10 {
		t.Errorf("of %d comparisons of the same: %d claims, %d with an adjusted p below alpha", n, claims, p)
	}
}

// TestIncarnations: where guests were made anew often enough, they are what is independent.
func TestIncarnations(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	s := usual("a", 1.09)
	s.guests = 4
	if o := find(t, compared(t, false, s.run(t, random), s.run(t, random)), Overhead); o.NBefore != 5 {
		t.Errorf("%d independent values of 5 guests", o.NBefore)
	}
}

func TestNothingInCommon(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	a, b := usual("a", 1), usual("b", 1)
	b.better = "higher"
	if _, err := Runs([]*Run{a.run(t, random), b.run(t, random)}, false); err == nil {
		t.Error("no error")
	}
	if _, err := Runs([]*Run{a.run(t, random)}, false); err == nil {
		t.Error("one run: no error")
	}
}

func TestWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := compared(t, false, usual("a.tare", 1.09).run(t, random), usual("b|<img>\n\x1b[31m.tare", 1.20).run(t, random), usual("c.tare", 1.09).run(t, random))
	var text, markdown, js bytes.Buffer
	for _, err := range []error{Text(&text, c, false), Markdown(&markdown, c, false), JSON(&js, c)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"kvm against the baseline", "worse", "c.tare, against a.tare", "not the same: kernel: a.tare → c.tare"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String()+markdown.String(), "\x1b") || strings.Contains(markdown.String(), "<img") || strings.Contains(markdown.String(), "b|") {
		t.Errorf("names are printed as they are:\n%s", markdown.String())
	}
	if !strings.Contains(markdown.String(), "| cpu | kvm against the baseline | +") {
		t.Errorf("the table is not there:\n%s", markdown.String())
	}
	var back Comparison
	if err := json.Unmarshal(js.Bytes(), &back); err != nil || len(back.Changes) != len(c.Changes) {
		t.Errorf("JSON: %v", err)
	}
	if fmt.Sprint(back.Changes[1].Verdict) != "worse" {
		t.Errorf("JSON: %+v", back.Changes[1])
	}
}
