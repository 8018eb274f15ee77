package claim

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/stats"
)

// made is a hypothesis with a verdict and a test of its own.
func made(ln stats.Interval, r Rule, t *testing.T) Hypothesis {
	t.Helper()
	test, err := r.Test(ln)
	if err != nil {
		t.Fatal(err)
	}
	v := NotResolved
	return Hypothesis{Family: "primary", Estimate: Of(ln), Test: &test, Verdict: &v}
}

// sampled is the interval of n values around mu.
func sampled(r *rand.Rand, n int, mu, sd float64, t *testing.T) stats.Interval {
	t.Helper()
	d := make([]float64, n)
	for i := range d {
		d[i] = mu + sd*r.NormFloat64()
	}
	iv, err := stats.MeanT(d, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

// TestAdjusted: the values of R's p.adjust(method = "holm"), and those of the step-down example with alpha = 0.05 in
// which the first and the last of four hypotheses are rejected.
func TestAdjusted(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.02, 0.03, 0.04, 0.05}, []float64{0.05, 0.08, 0.09, 0.09, 0.09}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.9}, []float64{1, 1}},
		{nil, nil},
	} {
		got, err := Adjusted(c.p, func(p float64) float64 { return p })
		if err != nil || len(got) != len(c.want) {
			t.Fatalf("%v: %v, %v", c.p, got, err)
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%v: %v, want %v", c.p, got, c.want)
			}
		}
	}
	if _, err := Adjusted([]float64{1.1}, func(p float64) float64 { return p }); err == nil {
		t.Error("a p-value above 1 is no error")
	}
	test := Test{P: 1.1}
	v := Gains
	if err := (Rule{0.05, 0.02}).Judge([]Hypothesis{{Test: &test, Verdict: &v}}); err == nil || v != Gains {
		t.Errorf("a p-value above 1 is judged: %v, %v", v, err)
	}
}

// TestVerdicts: every verdict, and what keeps it from being claimed.
func TestVerdicts(t *testing.T) {
	rule := Rule{Alpha: 0.05, Delta: 0.02}
	ln := func(mean, stdErr float64) stats.Interval {
		iv, err := stats.Contrast([]stats.Interval{{Estimate: mean, StdErr: stdErr, DF: 9}}, []float64{1}, rule.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		return iv
	}
	for _, c := range []struct {
		iv               stats.Interval
		noEffect, noNone bool
		want             Verdict
	}{
		{ln(0.05, 0.01), false, false, Costs},
		{ln(0.05, 0.01), true, false, NotResolved},
		{ln(-0.05, 0.01), false, false, Gains},
		{ln(-0.05, 0.01), true, false, NotResolved},
		{ln(0.001, 0.003), false, false, None},
		{ln(0.001, 0.003), true, false, None},
		{ln(0.001, 0.003), false, true, NotResolved},
		{ln(0.01, 0.002), false, false, Costs}, // says more than None
		{ln(0.01, 0.002), true, false, None},
		{ln(0.01, 0.01), false, false, NotResolved},
		{ln(0.03, 0.0001), true, false, NotResolved}, // precise, but beyond delta
	} {
		h := made(c.iv, rule, t)
		h.NoEffect, h.NoNone = c.noEffect, c.noNone
		if err := rule.Judge([]Hypothesis{h}); err != nil || *h.Verdict != c.want {
			t.Errorf("%+v: %s, want %s, %v", c, *h.Verdict, c.want, err)
		}
	}
	// Two families, and two classes of one, do not weaken each other; two of one class do.
	for name, other := range map[string]Hypothesis{"": {Family: "primary"}, "alone": {Family: "secondary"},
		"class": {Family: "primary", Class: "tails"}} {
		one, two := made(ln(0.05, 0.02), rule, t), made(ln(0.05, 0.02), rule, t)
		one.P, two.P = 0.04, 0.04
		two.Family, two.Class = other.Family, other.Class
		if err := rule.Judge([]Hypothesis{one, two}); err != nil || (one.PHolm == 0.08) != (name == "") ||
			(*one.Verdict == Costs) != (name != "") {
			t.Errorf("%q: adjusted p = %v, %s, %v", name, one.PHolm, *one.Verdict, err)
		}
	}
}

// TestJudgeIsConsistent: adjusting keeps the order of p-values, makes none smaller, and more hypotheses make none
// smaller; a verdict never says what its interval does not.
func TestJudgeIsConsistent(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 1))
	rule := Rule{Alpha: 0.05, Delta: 0.02}
	seen := map[Verdict]int{}
	for range 300 {
		var all []Hypothesis
		for range 1 + r.IntN(12) {
			all = append(all, made(sampled(r, 3+r.IntN(10), 0.02*r.NormFloat64(), 0.02*r.ExpFloat64(), t), rule, t))
		}
		fewer := all[:1+r.IntN(len(all))]
		if err := rule.Judge(fewer); err != nil {
			t.Fatal(err)
		}
		var before []float64
		for _, h := range fewer {
			before = append(before, h.PHolm)
		}
		if err := rule.Judge(all); err != nil {
			t.Fatal(err)
		}
		for i, h := range all {
			seen[*h.Verdict]++
			if h.PHolm < h.P || h.PHolm > 1 || h.EquivalencePHolm < h.EquivalenceP || i < len(before) && h.PHolm < before[i] {
				t.Fatalf("adjusted p-values %+v, of fewer %v", *h.Test, before)
			}
			for _, other := range all {
				if h.P < other.P && h.PHolm > other.PHolm {
					t.Fatalf("the order changes: %+v, %+v", *h.Test, *other.Test)
				}
			}
			if (h.P < rule.Alpha) != (h.Above(1) || h.Below(1)) {
				t.Fatalf("p = %v, but the interval is %+v", h.P, *h.Interval)
			}
			switch excludes := h.Above(1) || h.Below(1); {
			case *h.Verdict == Costs && !h.Above(1), *h.Verdict == Gains && !h.Below(1),
				*h.Verdict == None && !h.Within(rule.Delta),
				*h.Verdict == NotResolved && excludes && h.PHolm < rule.Alpha:
				t.Fatalf("%s of %+v, %+v", *h.Verdict, *h.Interval, *h.Test)
			}
		}
	}
	for _, v := range []Verdict{Costs, Gains, None, NotResolved} {
		if seen[v] < 50 {
			t.Errorf("%s occurred %d times, too seldom to be tested", v, seen[v])
		}
	}
}

// TestTruth: of families in which nothing differs, few have a claim of a cost or gain, and none is claimed of a true
// cost of twice delta in more than alpha of the cases, however many are found.
func TestTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 2))
	rule := Rule{Alpha: 0.05, Delta: 0.02}
	const families, members = 600, 7
	falseClaims, found, none, falseNone := 0, 0, 0, 0
	for range families {
		var same, costly []Hypothesis
		for range members {
			same = append(same, made(sampled(r, 10, 0, 0.012, t), rule, t))
			costly = append(costly, made(sampled(r, 10, math.Log(1.04), 0.03, t), rule, t))
		}
		if err := rule.Judge(append(same, costly[0])); err != nil {
			t.Fatal(err)
		}
		if err := rule.Judge(costly); err != nil {
			t.Fatal(err)
		}
		any := false
		for i := range members {
			any = any || *same[i].Verdict == Costs || *same[i].Verdict == Gains
			if *same[i].Verdict == None {
				none++
			}
			switch *costly[i].Verdict {
			case Costs:
				found++
			case None, Gains:
				falseNone++
			}
		}
		if any {
			falseClaims++
		}
	}
	share := func(n, of int) float64 { return float64(n) / float64(of) }
	if s := share(falseClaims, families); s > 0.08 || s < 0.01 {
		t.Errorf("%v of the families without a difference have a claim", s)
	}
	if s := share(found, families*members); s < 0.5 {
		t.Errorf("only %v of the costs of 4 %% are found", s)
	}
	if s := share(none, families*members); s < 0.5 {
		t.Errorf("only %v of what is the same is said to be", s)
	}
	if s := share(falseNone, families*members); s > 0.01 {
		t.Errorf("%v of the costs of 4 %% are said to be none, or a gain", s)
	}
}

// TestFarther: the end that is given bounds the whole interval in percent, also where it is the nearer one as a
// logarithm.
func TestFarther(t *testing.T) {
	for _, c := range []struct{ low, high, want float64 }{{-41.6, 54.8, 54.8}, {-41.6, 30, -41.6}, {-8, -2, -8},
		{1, 3, 3}} {
		got := FartherPercent(stats.Interval{Low: math.Log1p(c.low / 100), High: math.Log1p(c.high / 100)})
		if math.Abs(got-c.want) > 1e-9 || Farther(c.low, c.high) != c.want {
			t.Errorf("of %v … %v %%: %v", c.low, c.high, got)
		}
	}
	if p := Percent(1e9); math.IsInf(p, 0) || Percent(0) != 0 || math.Abs(Percent(math.Log(1.091))-9.1) > 1e-9 {
		t.Errorf("percent: %v", p)
	}
}

// TestUnknown: what has no interval is neither above nor below nor within anything, and JSON has none.
func TestUnknown(t *testing.T) {
	e := Alone(math.Log(1.2))
	if low, high := e.Ends(); e.Above(0) || e.Below(9) || e.Within(9) || low != 0 || high != 0 {
		t.Errorf("%+v has an interval", e)
	}
	for want, of := range map[string]Estimate{`{"ratio":1.5}`: Between(1.5, 0, 0), `{}`: {},
		`{"ratio":2,"ci_low":1.5,"ci_high":2.5}`: Between(2, 1.5, 2.5)} {
		text, err := json.Marshal(of)
		var back Estimate
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil ||
			(back.Interval == nil) != (of.Interval == nil) || back.Ratio != of.Ratio {
			t.Errorf("%s, %+v, want %s, %v", text, back, want, err)
		}
	}
	if u := Untested(); u != (Test{1, 1, 1, 1}) {
		t.Errorf("%+v", u)
	}
	if _, err := (Rule{Alpha: 0.05}).Test(stats.Interval{StdErr: 1, DF: 3}); err == nil {
		t.Error("no delta is no error")
	}
}

// TestWords: costs and gains have words of their own everywhere; what is not resolved has none, or it would hide the
// bound.
func TestWords(t *testing.T) {
	for _, w := range []Words{CostWords, ChangeWords, BaselineWords} {
		if w[Costs] == "" || w[Gains] == "" || w[Costs] == w[Gains] || w[NotResolved] != "" {
			t.Errorf("%v", w)
		}
	}
}
