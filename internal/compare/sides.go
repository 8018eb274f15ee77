package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// sizeLimit is the largest ratio of trial sizes whose figures are compared: one step
// in the series of sizes that calibration chooses from. Farther apart, the parts that
// do not grow with the work, or that fit into a cache, have another share.
const sizeLimit = 1.6

// perUnit says whether values of a metric must be divided by the trial sizes before
// they can be compared; or why they cannot be compared.
func (p *pairing) perUnit(series, metric string) (yes bool, why string) {
	var low, high int64 = math.MaxInt64, 0
	for _, r := range p.runs() {
		if s, ok := r.sizes[series]; ok {
			low, high = min(low, s.Size), max(high, s.Size)
		}
	}
	if high == 0 {
		return false, ""
	}
	return perUnit(p.before.Runs[0].workloads[series], metric, low, high, p.size(series).Unit)
}

// perUnit is pairing.perUnit of sizes from low to high; w is nil if the workload is not known.
func perUnit(w *workload.Workload, metric string, low, high int64, unit string) (yes bool, why string) {
	if low == high {
		return false, ""
	}
	sizes := fmt.Sprintf("the trial sizes are %d and %d %s", low, high, unitOf(unit))
	if low <= 0 || float64(high) > sizeLimit*float64(low) {
		return false, fmt.Sprintf("%s, more than %v times apart", sizes, sizeLimit)
	}
	if w == nil {
		return false, sizes + ", and it is not known whether the time is proportional for this workload"
	}
	growth, why := w.Growth(metric)
	if growth == workload.Unlike {
		return false, sizes + ", and " + why
	}
	return growth == workload.Proportional, ""
}

// UnlikeSizes says why the costs of a workload by a metric cannot be compared if its trials had these
// sizes in unit; "" if they can. For callers that have no runs: a workload of the campaign's own
// counts as not known.
func UnlikeSizes(series, metric, unit string, a, b int64) string {
	w, err := builtin.Get(model.ParseSeries(series).Workload)
	if err != nil {
		w = nil
	}
	_, why := perUnit(w, metric, min(a, b), max(a, b), unit)
	return why
}

// size is the trial size of the first run that has one.
func (p *pairing) size(series string) store.Size {
	for _, r := range p.runs() {
		if s, ok := r.sizes[series]; ok {
			return s
		}
	}
	return store.Size{}
}

// unitOf is a unit of sizes without the explanation in brackets.
func unitOf(unit string) string {
	short, _, _ := strings.Cut(unit, " (")
	return cmp.Or(short, "units of work")
}

func (p *pairing) runs() []*Run { return slices.Concat(p.before.Runs, p.after.Runs) }

// differences lists what is not the same on both sides, the most important first.
func (p *pairing) differences() []Difference {
	var out []Difference
	add := func(what, note string, of func(*Run) string) {
		before, after := p.before.all(of), p.after.all(of)
		if len(before) > 1 || len(after) > 1 || before[0] != after[0] {
			out = append(out, Difference{what, strings.Join(before, " and "), strings.Join(after, " and "), note})
		}
	}
	first := p.before.Runs[0]
	for _, series := range slices.Sorted(maps.Keys(first.sizes)) {
		note := "compared for the same work"
		if _, why := p.perUnit(series, p.primary(series)); why != "" {
			note = "not compared"
		}
		add("trials of "+series, note, func(r *Run) string {
			s, ok := r.sizes[series]
			if !ok {
				return "" // it has none yet
			}
			return fmt.Sprintf("%d %s", s.Size, unitOf(s.Unit))
		})
	}
	for _, arm := range first.plain {
		if p.after.has(arm) {
			add("guests of "+arm, "", func(r *Run) string { return FlavorText(r.arms[arm].Size) })
		}
	}
	add("arms", "", func(r *Run) string { return strings.Join(r.plain, ", ") })
	for _, what := range p.facts() {
		add(what, "", func(r *Run) string { return r.facts.Get(what) })
	}
	for _, name := range p.tools() {
		add("version of "+name, "figures of its versions may not be comparable",
			func(r *Run) string { return r.packages[name] })
	}
	if changed := p.packages(); changed != nil {
		out = append(out, *changed)
	}
	return out
}

// primary is the name of a workload's primary metric.
func (p *pairing) primary(series string) string {
	for _, c := range p.before.Runs[0].Result.Comparisons {
		if c.Workload == series && c.Primary {
			return c.Metric
		}
	}
	return ""
}

// facts are the names of the facts that any run has, in the order of the first run.
func (p *pairing) facts() []string {
	var names []string
	for _, r := range p.runs() {
		for _, f := range r.facts {
			if !slices.Contains(names, f[0]) {
				names = append(names, f[0])
			}
		}
	}
	return names
}

// all returns the answers of the runs of a side, each once.
func (s Side) all(of func(*Run) string) []string {
	var answers []string
	for _, r := range s.Runs {
		if a := of(r); !slices.Contains(answers, a) {
			answers = append(answers, a)
		}
	}
	return answers
}

// tools are the packages with the programs that the workloads run, as far as all runs say their versions.
func (p *pairing) tools() []string {
	var names []string
	for _, series := range slices.Sorted(maps.Keys(p.before.Runs[0].workloads)) {
		for _, name := range p.before.Runs[0].workloads[series].Packages {
			unknown := func(r *Run) bool { return r.packages[name] == "" }
			if !slices.Contains(names, name) && !slices.ContainsFunc(p.runs(), unknown) {
				names = append(names, name)
			}
		}
	}
	return names
}

// packages says which other packages of the userland have other versions although the
// images have the same key: one was built later than the other.
func (p *pairing) packages() *Difference {
	before, after := p.before.Runs[0], p.after.Runs[0]
	if before.facts.Get("userland image") != after.facts.Get("userland image") {
		return nil
	}
	d := &Difference{What: "packages of the image"}
	n, tools := 0, p.tools()
	for _, name := range slices.Sorted(maps.Keys(before.packages)) {
		was, is := before.packages[name], after.packages[name]
		if was == is || is == "" || slices.Contains(tools, name) {
			continue
		}
		if n++; n == 1 {
			d.Before, d.After = name+" "+was, name+" "+is
		}
	}
	switch {
	case n == 0:
		return nil
	case n > 1:
		d.Note = fmt.Sprintf("and %d more", n-1)
	}
	return d
}
