package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
)

// largeCost is the smallest planted cost of the runs that measure the cost of the
// planted work.
const largeCost = 50

// powerResult is the result of the runs of one cell.
type powerResult struct {
	runs, found int
	intervals   int       // runs with an interval
	covered     int       // intervals that contain the true cost
	halves      []float64 // half-widths in percent
	errors      []float64 // estimate − true cost, in percent
}

// power is the power on the quiet or the loaded machine.
type power struct {
	// The cost of one percent more work, in percent, from the medians of the runs with
	// much more work: the mean of all of them, and the values for each amount.
	scale   float64
	byLarge map[float64][]float64
	cells   map[cell]*powerResult
}

// powerOf computes the power for a metric. medians is the name of the metric or probe
// whose medians give the true cost.
func powerOf(records []Record, part string, load bool, chosen func(analyze.Comparison) bool, medians string) (*power,
	error) {
	p := &power{byLarge: map[float64][]float64{}, cells: map[cell]*powerResult{}}
	var scales []float64
	var small []Record
	for _, r := range records {
		if r.Part != part || r.Load != load {
			continue
		}
		c, err := parseCell(r.What)
		if err != nil {
			return nil, err
		}
		if c.percent < largeCost {
			small = append(small, r)
			continue
		}
		native := (median(r.Run.arm("native", cipherName), medians) + median(r.Run.arm("native-control",
			cipherName), medians)) / 2
		if native > 0 {
			scale := (median(r.Run.arm(planted, cipherName), medians)/native - 1) / (c.percent / 100)
			scales = append(scales, scale)
			p.byLarge[c.percent] = append(p.byLarge[c.percent], scale)
		}
	}
	p.scale = mean(scales)
	for _, r := range small {
		c, err := parseCell(r.What)
		if err != nil {
			return nil, err
		}
		p.add(c, r, chosen)
	}
	return p, nil
}

func (p *power) add(c cell, r Record, chosen func(analyze.Comparison) bool) {
	i := slices.IndexFunc(r.Run.Comparisons, func(x analyze.Comparison) bool { return x.Arm == planted && chosen(x) })
	if i < 0 {
		return
	}
	x := r.Run.Comparisons[i]
	res := p.cells[c]
	if res == nil {
		res = &powerResult{}
		p.cells[c] = res
	}
	res.runs++
	if x.Verdict == "costs" {
		res.found++
	}
	truth := 1 + c.percent/100*p.scale
	if has(x) {
		res.intervals++
		res.halves = append(res.halves, halfPercent(x))
		if x.CILow <= truth && truth <= x.CIHigh {
			res.covered++
		}
	}
	if x.Ratio > 0 {
		res.errors = append(res.errors, 100*(x.Ratio-truth))
	}
}

// halfPercent returns the half-width of an interval, in percent.
func halfPercent(c analyze.Comparison) float64 {
	return 100 * math.Expm1(math.Log(c.CIHigh/c.CILow)/2)
}

func (p *power) percents() []float64 {
	return distinct(p.cells, func(c cell) float64 { return c.percent })
}

func (p *power) budgets() []time.Duration {
	return distinct(p.cells, func(c cell) time.Duration { return c.budget })
}

// distinct returns what of says of the keys, each value once and in order.
func distinct[K comparable, V any, T cmp.Ordered](of map[K]V, what func(K) T) []T {
	seen := map[T]bool{}
	for k := range of {
		seen[what(k)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// sum returns the result of all cells with a budget; 0: of all cells.
func (p *power) sum(budget time.Duration) powerResult {
	var all powerResult
	for _, c := range slices.SortedFunc(maps.Keys(p.cells), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.budget, b.budget), cmp.Compare(a.percent, b.percent))
	}) {
		if r := p.cells[c]; budget == 0 || c.budget == budget {
			all.runs += r.runs
			all.found += r.found
			all.intervals += r.intervals
			all.covered += r.covered
			all.halves = append(all.halves, r.halves...)
			all.errors = append(all.errors, r.errors...)
		}
	}
	return all
}

func isTime(c analyze.Comparison) bool    { return c.Primary && !c.Control }
func isCPUTime(c analyze.Comparison) bool { return c.Metric == analyze.CPUTime && !c.Control }
func isAtOnce(c analyze.Comparison) bool  { return c.Metric == analyze.CPUTimeAtOnce && !c.Control }

// powerTables returns the tables of a part about known costs, for the quiet or the loaded machine.
func powerTables(records []Record, part string, load bool) (string, error) {
	var text string
	for _, metric := range metrics {
		p, err := powerOf(records, part, load, metric.chosen, metric.medians)
		if err != nil {
			return "", err
		}
		if len(p.cells) == 0 {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += "**By " + metric.name + "**\n\n" + p.truthText() + "\n" + p.foundTable() + "\n" + p.coverageTable()
	}
	return text, nil
}

// truthText states the cost of one percent more work and its uncertainty.
func (p *power) truthText() string {
	if math.IsNaN(p.scale) {
		return "The cost of the planted work was not measured, so the coverage is unknown.\n"
	}
	text := fmt.Sprintf("1 %% more work costs %.3f %%", p.scale)
	for i, percent := range slices.Sorted(maps.Keys(p.byLarge)) {
		of := p.byLarge[percent]
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%sruns with %g %% more work give %.3f", sep, percent, mean(of))
		if len(of) > 1 {
			text += fmt.Sprintf(" (%.3f … %.3f, %d runs)", slices.Min(of), slices.Max(of), len(of))
		}
	}
	return text + ".\n"
}

// foundTable returns a table with a row for each cost and a column for each budget.
func (p *power) foundTable() string {
	t := table{head: []string{"planted", "true cost"}}
	for _, b := range p.budgets() {
		t.head = append(t.head, fmt.Sprintf("%g s", b.Seconds()))
	}
	for _, percent := range p.percents() {
		truth := "–"
		if !math.IsNaN(p.scale) {
			truth = fmt.Sprintf("%.2f %%", percent*p.scale)
		}
		row := []string{fmt.Sprintf("%g %%", percent), truth}
		for _, b := range p.budgets() {
			r := p.cells[cell{percent, b}]
			if r == nil {
				row = append(row, "")
				continue
			}
			text := fmt.Sprintf("%d of %d", r.found, r.runs)
			if len(r.halves) > 0 {
				text += fmt.Sprintf(" (±%.2f)", quantile(r.halves, 0.5))
			}
			row = append(row, text)
		}
		t.add(row...)
	}
	return t.String()
}

// coverageTable returns a table with a row for each budget.
func (p *power) coverageTable() string {
	if math.IsNaN(p.scale) {
		return ""
	}
	t := table{head: []string{"budget", "intervals", "contain the true cost", "median half-width", "estimate − true cost"}}
	row := func(name string, r powerResult) {
		t.add(name, fmt.Sprint(r.intervals), shareIn(r.covered, r.intervals),
			fmt.Sprintf("±%.2f %%", quantile(r.halves, 0.5)), fmt.Sprintf("%+.2f %%", mean(r.errors)))
	}
	for _, b := range p.budgets() {
		row(fmt.Sprintf("%g s", b.Seconds()), p.sum(b))
	}
	row("**all**", p.sum(0))
	return t.String()
}
