package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/store"
)

// runWith returns a run of tare with these comparisons.
func runWith(part, what string, round int, comparisons ...analyze.Comparison) Record {
	return Record{Part: part, What: what, Round: round, Seconds: 15, Run: &Run{Comparisons: comparisons}}
}

func timeOf(workload, arm string, ratio, half float64, verdict analyze.Verdict) analyze.Comparison {
	return analyze.Comparison{Workload: workload, Metric: "time", Primary: true, Arm: arm,
		Estimate: claim.Between(ratio, ratio*math.Exp(-half), ratio*math.Exp(half)), Verdict: verdict}
}

// hasRows reports an error for each line that text does not contain.
func hasRows(t *testing.T, text string, rows ...string) {
	t.Helper()
	for _, row := range rows {
		if !strings.Contains(text, row+"\n") {
			t.Errorf("no line %q in\n%s", row, text)
		}
	}
}

func TestSample(t *testing.T) {
	s := sample{effects: []float64{3, -4}}
	if math.Abs(s.rms()-math.Sqrt(12.5)) > 1e-12 || math.Abs(s.p95()-3.95) > 1e-12 {
		t.Errorf("rms %v, p95 %v", s.rms(), s.p95())
	}
}

func TestAATables(t *testing.T) {
	const w = "openssl-enc"
	cpu := timeOf(w, "again-1", 1.004, 0.01, "not-resolved")
	cpu.Metric, cpu.Primary = analyze.CPUTime, false
	control := timeOf(w, "first-control", 1.2, 0.01, "not-resolved")
	control.Control = true
	pair := func(what string, seconds, percent float64) Record {
		first := []float64{1, 1.01, 0.99, 1}
		second := make([]float64, 4)
		for i := range first {
			second[i] = first[i] * (1 + percent/100)
		}
		return Record{Part: "aa", What: what, Seconds: seconds, Pair: &Pair{Workload: w, First: first, Second: second,
			FirstCPU: 0.5, SecondCPU: 0.5 * (1 + percent/400)}}
	}
	records := []Record{
		runWith("aa", duelOf("native", w), 1, timeOf(w, "again-1", 1.003, 0.01, "not-resolved"), cpu, control),
		pair(hyperfineUsual+" "+w, 16, 6),
		runWith("aa", duelOf("lxc", w), 1, timeOf(w, "again-1", 0.997, 0.002, "gains")),
		pair(hyperfinePinned+" "+w, 14, -0.6),
		runWith("aa", crowd+" native", 1, timeOf(w, "again-1", 1.001, 0.01, "not-resolved"),
			timeOf(w, "again-2", 1.01, 0.005, "not-resolved")),
		{Part: "aa", What: crowd + " native", Load: true,
			Run: &Run{Comparisons: []analyze.Comparison{timeOf(w, "again-1", 1.3, 0.01, "costs")}}},
	}
	text, err := aaTables(records, "aa", false)
	if err != nil {
		t.Fatal(err)
	}
	hasRows(t, text,
		"| two of native | time | 1 | 0 of 1 (0.0 %; 0.0 … 79.3) | 0 of 1 (0.0 %; 0.0 … 79.3) | 0 of 1 (0.0 %) |",
		"| two of lxc | time | 1 | 1 of 1 (100.0 %; 20.7 … 100.0) | 1 of 1 (100.0 %; 20.7 … 100.0) | 1 of 1 (100.0 %) |",
		"| several of native | time | 2 | 0 of 2 (0.0 %; 0.0 … 65.8) | 1 of 2 (50.0 %; 9.5 … 90.5) | 0 of 1 (0.0 %) |",
		"| **all** | time | 4 | 1 of 4 (25.0 %; 4.6 … 69.9) | 2 of 4 (50.0 %; 15.0 … 85.0) | 1 of 3 (33.3 %) |",
		"| **all** | CPU time | 1 | 0 of 1 (0.0 %; 0.0 … 79.3) | 0 of 1 (0.0 %; 0.0 … 79.3) | 0 of 1 (0.0 %) |",
		// Both errors are 0.3 %, so rms and p95 are 0.3: a twentieth of hyperfine's, half of pinned hyperfine's.
		"| openssl-enc | **tare, both, time** | 2 | 15.0 | 1 of 2 (50.0 %) | 0.30 % | 0.30 % | 20× | 5× | 2× | 0.5× |",
		"| openssl-enc | hyperfine | 1 | 16.0 | 1 of 1 (100.0 %) | 6.00 % | 6.00 % | 1× | 0.25× | 0.1× | 0.025× |",
		"| openssl-enc | hyperfine, user + system | 1 | 16.0 | – | 1.50 % | 1.50 % | 4× | 1× | 0.4× | 0.1× |",
		"| openssl-enc | hyperfine, pinned | 1 | 14.0 | 0 of 1 (0.0 %) | 0.60 % | 0.60 % | 10× | 2.5× | 1× | 0.25× |",
	)
	loaded, err := aaTables(records, "aa", true)
	if err != nil {
		t.Fatal(err)
	}
	hasRows(t, loaded, "| **all** | time | 1 | 1 of 1 (100.0 %; 20.7 … 100.0) | 1 of 1 (100.0 %; 20.7 … 100.0) | 1 of 1 "+
		"(100.0 %) |")
}

// plantedRun returns a run with an estimate that is off by z standard errors.
func plantedRun(percent float64, budget time.Duration, truth, z float64) Record {
	const se = 0.005
	c := timeOf(cipherName, planted, (1+truth/100)*math.Exp(z*se), 1.96*se, "not-resolved")
	if c.CILow > 1 {
		c.Verdict = "costs"
	}
	return runWith("power", cell{percent, budget}.String(), 1, c)
}

func largeRun(percent, scale float64) Record {
	r := runWith("power", cell{percent, time.Minute}.String(), 1, timeOf(cipherName, planted, 1+percent/100*scale, 0.01,
		"costs"))
	series := func(median float64) []analyze.SeriesSummary {
		return []analyze.SeriesSummary{{Name: "time", N: 100, Median: median}}
	}
	r.Run.Arms = []analyze.ArmResult{
		{Arm: "native", Workload: cipherName, Metrics: series(0.1)},
		{Arm: "native-control", Workload: cipherName, Metrics: series(0.102)},
		{Arm: planted, Workload: cipherName, Metrics: series(0.101 * (1 + percent/100*scale))},
	}
	return r
}

func TestPowerTables(t *testing.T) {
	const scale = 0.9 // a tenth of a trial does not depend on the work
	records := []Record{largeRun(100, scale), largeRun(50, scale)}
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 2000
	for range runs {
		records = append(records, plantedRun(5, 30*time.Second, 5*scale, rng.NormFloat64()),
			plantedRun(1, 30*time.Second, scale, rng.NormFloat64()))
	}
	p, err := powerOf(records, "power", false, isTime, "time")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.scale-scale) > 1e-12 {
		t.Errorf("1 %% more work costs %v %%", p.scale)
	}
	five, one := p.cells[cell{5, 30 * time.Second}], p.cells[cell{1, 30 * time.Second}]
	if five.found != runs || one.found < runs/4 || one.found > runs/2 { // 0.9 % is 1.8 standard errors
		t.Errorf("found %d and %d of %d", five.found, one.found, runs)
	}
	if all := p.sum(0); math.Abs(float64(all.covered)/(2*runs)-0.95) > 0.015 || all.intervals != 2*runs ||
		math.Abs(mean(all.errors)) > 0.05 {
		t.Errorf("%d of %d intervals contain the true cost; mean error %v", all.covered, all.intervals, mean(all.errors))
	}
	// With the planted percentage as the true cost, the estimates would be half a percent low.
	p.cells = map[cell]*powerResult{}
	p.scale = 1
	for _, r := range records[2:] {
		p.add(cell{5, 30 * time.Second}, r, isTime)
	}
	if all := p.sum(0); float64(all.covered) > 0.9*float64(all.intervals) {
		t.Errorf("%d of %d intervals contain a wrong cost", all.covered, all.intervals)
	}

	text, err := powerTables(records[:4], "power", false)
	if err != nil {
		t.Fatal(err)
	}
	hasRows(t, text,
		"1 % more work costs 0.900 %: runs with 50 % more work give 0.900; runs with 100 % more work give 0.900.",
		"| planted | true cost | 30 s |",
		"| 5 % | 4.50 % | 1 of 1 (±0.98) |",
	)
	if text, err := powerTables(records[2:4], "power", false); err != nil || !strings.Contains(text, "was not measured") ||
		strings.Contains(text, "NaN") {
		t.Errorf("without the true cost: %v\n%s", err, text)
	}
}

func TestPlot(t *testing.T) {
	for _, records := range [][]Record{
		nil,
		{plantedRun(5, 30*time.Second, 5, 0)},
		{plantedRun(5, 30*time.Second, 5, 0), plantedRun(1, time.Minute, 1, 0), plantedRun(1, 5*time.Minute, 3, 0)},
	} {
		p, err := powerOf(records, "power", false, isTime, "time")
		if err != nil {
			t.Fatal(err)
		}
		plot := p.svg()
		d := xml.NewDecoder(strings.NewReader(plot))
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) || strings.Contains(plot, "NaN") || strings.Count(plot, "<polyline") != len(p.percents()) {
			t.Errorf("%v in\n%s", err, plot)
		}
	}
}

func TestAgreementTables(t *testing.T) {
	quick := func(round int, size int64, ratio float64) Record {
		emulated := timeOf("openssl-enc", "qemu-tcg", 30*ratio*ratio, 0.001, "costs")
		r := runWith("agreement", "quick", round, timeOf("openssl-enc", "lxc", ratio, 0.01, "not-resolved"),
			timeOf("dd-write", "lxc", 1, 0.04, "not-resolved"), emulated)
		atOnce := timeOf("openssl-enc", "lxc", 1.017, 0.005, "not-resolved")
		atOnce.Metric, atOnce.Primary, atOnce.Family = analyze.CPUTimeAtOnce, false, analyze.FamilyAtOnce
		if round == 1 {
			atOnce.Verdict = analyze.Costs
		}
		r.Run.Comparisons = append(r.Run.Comparisons, atOnce)
		r.Run.Arms = []analyze.ArmResult{{Arm: "qemu-tcg", Workload: "openssl-enc", Emulated: true}}
		r.Run.Sizes = []store.Size{{Workload: "openssl-enc", Size: size}}
		return r
	}
	if text := agreementTables([]Record{quick(1, 40, 1)}, false); text != "" {
		t.Errorf("a table of a single run:\n%s", text)
	}
	// The first two barely overlap; the third is far from both.
	text := agreementTables([]Record{quick(1, 40, 1), quick(2, 40, 1.019), quick(3, 42, 1.05)}, false)
	hasRows(t, text,
		"3 runs of 15 s.",
		"| time and other primary metrics | 2 | 6 | 2 of 6 (33.3 %) | 2 |",
		"| emulated systems | 1 | 3 | 3 of 3 (100.0 %) | 2 |",
		"| half-width, median (worst) | metric | goal | lxc |",
		"| openssl-enc | time | ±5 % | ±1 % (1) |",
		"| dd-write | time | ±5 % | ±4.1 % (4.1) |",
		"| openssl-enc | cpu-time-at-once | ±0.7 % | ±0.5 % (0.5) |",
		"| workloads with an answer, run | lxc |", // emulated systems do not count
		"| 1 | 1 of 2 |",
		"| 2 | 0 of 2 |",
	)
}

func TestFill(t *testing.T) {
	sections := []section{{"aa", "A", "| new |\n"}, {"power", "P", ""}}
	const text = "# T\n\n<!-- aa -->\nold\n<!-- /aa -->\nmiddle\n\n<!-- power -->\n<!-- /power -->\nend\n"
	const want = "# T\n\n<!-- aa -->\n\n| new |\n\n<!-- /aa -->\nmiddle\n\n<!-- power -->\n<!-- /power -->\nend\n"
	got, err := fill(text, sections)
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if again, err := fill(got, sections); err != nil || again != want {
		t.Errorf("filled twice: %v\n%s", err, again)
	}
	if _, err := fill("<!-- aa -->\n", sections); err == nil {
		t.Error("no error for a missing mark")
	}
}

// TestPageHasEveryMark: the page in docs has a place for each section.
func TestPageHasEveryMark(t *testing.T) {
	page, err := os.ReadFile("../../docs/precision.md")
	if err != nil {
		t.Fatal(err)
	}
	sections, err := summarize(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fill(string(page), sections); err != nil {
		t.Error(err)
	}
}
