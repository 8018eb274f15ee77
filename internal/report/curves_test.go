package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// curved is a result with a curve of native and of an arm that costs less and less.
func curved(within bool) *analyze.Result {
	res := &analyze.Result{Baseline: "native", Alpha: 0.05, Delta: 0.02,
		Arms: []analyze.ArmResult{{Arm: "native", Scenario: "solo", Workload: "net"}}}
	native := analyze.Curve{Workload: "net", Name: "rate", Unit: "bit/s", Better: "higher", Primary: true,
		Parameter: "length", In: "B", Within: within, Arm: "native", Scenario: "solo"}
	slow := native
	slow.Arm, slow.Baseline = "<lxc>", "native"
	slow.Agreement = &claim.Agreement{Within: 0.05, From: 4096, After: 1024, Latest: 16384}
	for i := range 11 {
		at := math.Pow(4, float64(i))
		v, cost := 8e6*at/(1+at/1e5), 1+1/(1+at/256)
		native.Points = append(native.Points, analyze.CurvePoint{At: at, N: 20, Value: v, Low: 0.97 * v, High: 1.03 * v})
		p := analyze.CurvePoint{At: at, N: 20, Value: v / cost, Low: 0.97 * v / cost, High: 1.03 * v / cost,
			Cost: &analyze.PointCost{Estimate: claim.Between(cost, 0.98*cost, 1.02*cost), Verdict: analyze.Costs}}
		slow.Points = append(slow.Points, p)
	}
	res.Curves = []analyze.Curve{native, slow}
	return res
}

// TestCurvePlots: values and costs, each with a line for each arm that has them, also on a page.
func TestCurvePlots(t *testing.T) {
	res := curved(true)
	groups := curveGroups(res, func(analyze.Curve) bool { return true })
	if len(groups) != 1 || len(groups[0]) != 2 {
		t.Fatalf("%d groups", len(groups))
	}
	for name, c := range map[string]struct {
		plot  *view.Plot
		lines int
		words []string
	}{
		"values": {groups[0].values(res, "v"), 2, []string{"rate of net by length", ">1 KiB<", ">1 MiB<", ">100 Mbit/s<"}},
		"costs":  {groups[0].costs(res, "c"), 1, []string{"cost in rate of net by length", ">0 %<", "&lt;lxc&gt;"}},
	} {
		html := string(c.plot.SVG())
		if n := strings.Count(html, `class="curve`); n != c.lines || strings.Contains(html, "<lxc") {
			t.Errorf("%s: %d lines in %s", name, n, html)
		}
		if n := strings.Count(html, `class="range"`); n != 11*c.lines {
			t.Errorf("%s: %d intervals", name, n)
		}
		if err := xml.Unmarshal([]byte(html), new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, word := range c.words {
			if !strings.Contains(html, word) {
				t.Errorf("%s does not have %q: %s", name, word, html)
			}
		}
	}
}

// TestCurvesInATerminal: a line for each arm, its figures with all details only.
func TestCurvesInATerminal(t *testing.T) {
	for name, s := range map[string]*view.Section{
		"of a workload":   curvesWithin(curved(true), "w0", "net"),
		"over parameters": SweptCurves(curved(false)),
	} {
		var short, all bytes.Buffer
		must(t, view.Terminal(&short, view.Options{Width: 80}, s))
		must(t, view.Terminal(&all, view.Options{Width: 80, All: true, Plots: true}, s))
		want := []string{"rate of net by length", "  native  8.000 Mbit/s  ▁",
			"<lxc>: within ±5 % of native from a length of 4 KiB on",
			"95 % interval: 4 KiB … 16 KiB", "cost in rate of net by length", "+99.6 %"}
		for _, words := range want {
			if !strings.Contains(strings.Join(strings.Fields(short.String()), " "), strings.Join(strings.Fields(words), " ")) {
				t.Errorf("%s: no %q in\n%s", name, words, short.String())
			}
		}
		if n := strings.Count(short.String(), "\n"); n > 16 {
			t.Errorf("%s takes %d lines:\n%s", name, n, short.String())
		}
		if n := strings.Count(all.String(), " … "); n < 33 {
			t.Errorf("%s: %d intervals with all details:\n%s", name, n, all.String())
		}
	}
	if s := curvesWithin(curved(true), "w0", "other"); len(s.Parts) > 0 {
		t.Errorf("of a workload without curves: %+v", s)
	}
}

func TestAgreementText(t *testing.T) {
	res := curved(true)
	for want, a := range map[string]claim.Agreement{
		"within ±5 % of native everywhere, from a length of 1 B on":                    {From: 1, Latest: 1},
		"within ±5 % of native from a length of 4 KiB on; 95 % interval: 1 B … 16 KiB": {From: 4096, Latest: 16384},
		"within ±5 % of native from a length of 4 KiB on; 95 % interval: 4 KiB … 16 KiB": {
			From: 4096, After: 1024, Latest: 16384},
		"within ±5 % of native from a length of 16 KiB on; 95 % interval: 16 KiB": {
			From: 16384, After: 4096, Latest: 16384},
		"not within ±5 % of native up to a length of 1 MiB, the largest":                    {After: 1 << 20},
		"not within ±5 % of native at a length of 1 MiB, the largest, by the estimate; the": {After: 1024},
		"within ±5 % of native from a length of 4 KiB on, by the estimates; the intervals do not show it, " +
			"only that it is not before 4 KiB": {
			From: 4096, After: 1024},
		"within ±5 % of native everywhere, by the estimates; the intervals do not show it": {From: 1},
	} {
		c := res.Curves[1]
		a.Within = 0.05
		c.Agreement = &a
		if got := agreementText(res, c); !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %s", a, got)
		}
	}
}

// TestValueAxes: values that spread are on a logarithmic axis, others on one from 0.
func TestValueAxes(t *testing.T) {
	near, far := valueAxis("rate", "B/s", []float64{40e6, 90e6}), valueAxis("rate", "B/s", []float64{1e3, 9e7})
	if !near.Linear || near.Low != 0 || len(near.Ticks) < 3 || near.Ticks[0].Label != "0 MB/s" || far.Linear {
		t.Errorf("%+v, %+v", near, far)
	}
	for _, values := range [][]float64{{0.001, 0.0011}, {3, 3}, {1e-9, 1e9}, {7e11, 8e11}} {
		a := valueAxis("time", "s", values)
		seen := 0
		for _, tick := range a.Ticks {
			if tick.Value >= values[0] && tick.Value <= 1.05*values[1] || a.Linear && tick.Value <= 1.05*values[1] {
				seen++
			}
		}
		if seen < 2 || len(a.Ticks) > 40 {
			t.Errorf("%v: %d of %d marks: %+v", values, seen, len(a.Ticks), a.Ticks)
		}
	}
	g := curveGroup{{Parameter: "threads", Points: []analyze.CurvePoint{{At: 1}, {At: 4}, {At: 16}}}}
	for _, high := range []float64{0, -1, 1e-310, math.Inf(1), math.NaN()} {
		if ticks := linearTicks("s", high); ticks != nil {
			t.Errorf("up to %v: %+v", high, ticks)
		}
	}
	if a := g.axis(); a.Linear || len(a.Ticks) != 3 || a.Ticks[2].Label != "16" || a.Label != "threads" {
		t.Errorf("%+v", a)
	}
	g = curveGroup{{Parameter: "size", In: "MiB written", Points: []analyze.CurvePoint{{At: 1000}, {At: 3000}}}}
	if a := g.axis(); !a.Linear || a.Label != "size, MiB written" || a.Ticks[1].Label != "3000" {
		t.Errorf("%+v", a)
	}
}

func TestBars(t *testing.T) {
	series := func(v float64) []analyze.SeriesSummary {
		return []analyze.SeriesSummary{{Name: "time", Unit: "s", N: 20, Mean: v, P5: 0.9 * v, P95: 1.2 * v, Median: v}}
	}
	res := &analyze.Result{Baseline: "native", Alpha: 0.05, Delta: 0.02, Arms: []analyze.ArmResult{
		{Arm: "native", Workload: "cpu", Metrics: series(0.1)},
		{Arm: "native-control", Workload: "cpu", Metrics: series(0.1)},
		{Arm: "lxc", Workload: "cpu", Metrics: series(0.2)},
		{Arm: "tcg", Workload: "cpu", Metrics: series(9), Emulated: true}}}
	for _, arm := range []string{"lxc", "tcg", "native-control"} {
		res.Comparisons = append(res.Comparisons, analyze.Comparison{Workload: "cpu", Metric: "time", Unit: "s",
			Better: "lower", Primary: true, Baseline: "native", Arm: arm, Control: arm == "native-control", N: 20,
			Estimate: claim.Between(2, 1.9, 2.1)})
	}
	p := costsOf(res, "cpu", "time", func(string) bool { return true }).bars("b")
	html := string(p.SVG())
	if n := strings.Count(html, `class="value`); n != 3 || strings.Contains(html, "control") {
		t.Errorf("%d bars: %s", n, html)
	}
	// lxc's bar is twice as long as native's; that of the emulated arm leaves the drawing.
	for _, part := range []string{`class="value"`, `class="value open"`, "▸", "200.0 ms", "9000 ms"} {
		if !strings.Contains(html, part) {
			t.Errorf("no %s in %s", part, html)
		}
	}
	if err := xml.Unmarshal([]byte(html), new(struct{})); err != nil {
		t.Error(err)
	}
	var all bytes.Buffer
	must(t, view.Terminal(&all, view.Options{Width: 100, All: true, Plots: true}, p))
	if !strings.Contains(all.String(), "██") || !strings.Contains(all.String(), "90.00 ms … 120.0 ms") {
		t.Error(all.String())
	}
}

// curvedRun writes a run in which lxc costs 60 % at the shortest messages, and half as much with each next length.
func curvedRun(t *testing.T) *store.Run {
	t.Helper()
	c, err := campaign.Parse("x.yaml", []byte("name: x\nseed: 1\narms: [native, lxc]\nworkloads: [netpipe]\nblocks: 12\n"),
		campaign.Known{})
	must(t, err)
	metrics := []store.Metric{{Workload: "netpipe", Name: "time", Unit: "s", Better: "lower", Primary: true}}
	for i := range 6 {
		metrics = append(metrics, store.Metric{Workload: "netpipe", Unit: "bit/s", Better: "higher",
			Name: model.Point{Curve: "rate", Parameter: "length", At: math.Exp2(float64(i)), Unit: "B"}.String()})
	}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), map[string][]byte{store.DocCampaign: c.Resolved()},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}, {Name: "lxc", System: "lxc", Scenario: "solo"},
			{Name: "native-control", System: "native", Scenario: "solo", ControlOf: "native"}}, metrics)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	session, err := r.BeginSession("boot", "1")
	must(t, err)
	random := rand.New(rand.NewPCG(5, 5))
	for block := range 12 {
		for arm := range 3 {
			guest, err := r.AddGuest(session, arm, store.Guest{Generation: block})
			must(t, err)
			id, err := r.Begin(store.Attempt{Session: session, Guest: guest, Workload: "netpipe", Arm: arm, Block: block,
				Generation: block})
			must(t, err)
			values := map[int]float64{0: 1}
			for i := range 6 {
				cost := 1.0
				if arm == 1 {
					cost += 0.6 / math.Exp2(float64(i))
				}
				values[i+1] = 1e6 * math.Exp2(float64(i)) / cost * math.Exp(0.005*random.NormFloat64())
			}
			must(t, r.Finish(id, store.Outcome{Status: store.Done, Values: values}))
		}
	}
	return r
}

// TestCurveExports: a curve is in every export but benchstat's, from the run file on.
func TestCurveExports(t *testing.T) {
	r := curvedRun(t)
	in, err := dataset.Read(r)
	must(t, err)
	res, err := analyze.Analyze(in)
	must(t, err)
	if len(res.Curves) != 2 || res.Curves[1].Agreement == nil || res.Curves[1].Agreement.From != 16 {
		t.Fatalf("%+v", res.Curves)
	}
	var js, trials, figures, bench bytes.Buffer
	must(t, JSON(&js, r, res))
	must(t, CSV(&trials, r))
	must(t, FiguresCSV(&figures, r, res))
	must(t, Benchfmt(&bench, r))
	var decoded struct {
		Curves []struct {
			Name, Parameter, Arm string
			Points               []struct {
				At, Value float64
				Cost      *struct{ Ratio float64 }
			}
			Agreement *struct{ From, After, Latest float64 }
		}
	}
	must(t, json.Unmarshal(js.Bytes(), &decoded))
	if c := decoded.Curves; len(c) != 2 || c[1].Name != "rate" || c[1].Parameter != "length" || len(c[1].Points) != 6 ||
		c[1].Points[0].Cost == nil || math.Abs(c[1].Points[0].Cost.Ratio-1.6) > 0.02 || c[0].Points[0].Cost != nil ||
		c[1].Agreement.From != 16 || c[1].Agreement.After != 8 {
		t.Errorf("%+v", decoded)
	}
	if n := strings.Count(trials.String(), ",metric,rate[length="); n != 12*3*6 {
		t.Errorf("%d points in the trials", n)
	}
	for _, row := range []string{"netpipe,rate[length=1B],lxc,lxc,solo,,,native,,point-cost,1.", "agrees-from,16,",
		"agrees-after,8,"} {
		if !strings.Contains(figures.String(), row) {
			t.Errorf("no %q in\n%s", row, figures.String())
		}
	}
	if strings.Contains(bench.String(), "length") || !strings.Contains(bench.String(), "/metric=time") {
		t.Errorf("for benchstat:\n%s", bench.String())
	}
}
