package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// Together is one table with the figures of every system, for a run that starts guests and fills the host with them:
// starts, memory, how many fit, and what its other workloads cost. The tables of each workload have the same figures.
func Together(res *analyze.Result) *view.Table {
	if len(res.Starts) == 0 || len(res.Fills) == 0 {
		return nil
	}
	t := &view.Table{Name: "system", Title: "Systems side by side", Caption: "Starts, memory, density and costs by system",
		Columns: view.Heads("")}
	arms := []string{}
	for _, m := range res.Memory {
		arms = append(arms, m.Arm)
	}
	for _, f := range res.Fills {
		if !slices.Contains(arms, f.Arm) && !f.Control {
			arms = append(arms, f.Arm)
		}
	}
	rows := make([][]view.Cell, len(arms))
	column := func(head string, drop int, cell func(arm string) view.Cell) {
		t.Columns = append(t.Columns, view.Column{Head: head, Words: true, Drop: drop})
		for i, arm := range arms {
			rows[i] = append(rows[i], cell(arm))
		}
	}
	for i, arm := range arms {
		rows[i] = []view.Cell{armCell(arm, isEmulated(res, arm, ""))}
	}
	for _, kind := range startKinds(res) {
		column(kind.head(), kind.drop(), func(arm string) view.Cell { return kind.cell(res, arm) })
	}
	column("idle", 0, func(arm string) view.Cell {
		if i := slices.IndexFunc(res.Memory, func(m analyze.Memory) bool { return m.Arm == arm }); i >= 0 {
			return memoryCell(res.Memory[i].Idle)
		}
		return view.Cell{}
	})
	fill := func(arm string, cell func(f analyze.Fill) view.Cell) view.Cell {
		if i := slices.IndexFunc(res.Fills, func(f analyze.Fill) bool { return f.Arm == arm }); i >= 0 {
			return cell(res.Fills[i])
		}
		return view.Cell{}
	}
	column("a guest takes", 2, func(arm string) view.Cell {
		return fill(arm, func(f analyze.Fill) view.Cell { return ofUnit("B", max(0, f.Share.Mean)) })
	})
	column("fit", 0, func(arm string) view.Cell {
		return fill(arm, func(f analyze.Fill) view.Cell {
			return view.Cell{Text: fitsText(f), Figure: &view.Figure{Value: f.Fits.Value, Low: f.Fits.Low, High: f.Fits.High}}
		})
	})
	for _, w := range otherWorkloads(res) {
		column(w, 0, func(arm string) view.Cell {
			for _, c := range res.Comparisons {
				if c.Primary && c.Workload == w && c.Arm == arm && c.Baseline == res.Baseline {
					return verdictCell(res, c, ShortVerdict(c))
				}
			}
			return view.Text(when(arm == res.Baseline, "baseline"))
		})
	}
	for i := range rows {
		t.Add(rows[i]...)
	}
	t.Legend = "start: p50 / p95 / p99 of single starts, as far as there are enough; idle: memory of a guest that does " +
		"nothing; a guest takes: what the host loses for each of many; fit: how many kept the service level of the fill; " +
		"the others: overhead against " + res.Baseline
	return t
}

// startKind is a kind of start: of so many guests at once, from a warm or a cold page cache.
type startKind struct {
	workload string
	guests   int
	cold     bool
}

// startKinds are those of the run, in its order.
func startKinds(res *analyze.Result) (kinds []startKind) {
	for _, s := range res.Starts {
		if k := (startKind{s.Workload, s.Guests, s.Cold}); s.Restored == nil && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (k startKind) head() string {
	return when(k.cold, "cold ") + "start" + when(k.guests > 1, fmt.Sprintf(" of %d at once", k.guests))
}

// drop is when a narrow terminal leaves the column out: those of several guests first.
func (k startKind) drop() int { return map[bool]int{true: 1, false: 3}[k.guests > 1] }

// cell has the percentiles of an arm's starts of this kind.
func (k startKind) cell(res *analyze.Result, arm string) view.Cell {
	for _, s := range res.Starts {
		of, _, _ := strings.Cut(s.Arm, "@")
		if of != arm || (startKind{s.Workload, s.Guests, s.Cold}) != k {
			continue
		}
		last := s.P50.Value
		for _, p := range []*analyze.Percentile{s.P95, s.P99} {
			if p != nil {
				last = p.Value
			}
		}
		scale := ScaleFor("s", last)
		texts := []string{Digits(s.P50.Value*scale.Factor, 3)}
		for _, p := range []*analyze.Percentile{s.P95, s.P99} {
			if p != nil {
				texts = append(texts, Digits(p.Value*scale.Factor, 3))
			}
		}
		return view.Cell{Text: strings.Join(texts, " / ") + " " + scale.Unit,
			Figure: &view.Figure{Value: s.P50.Value, Low: s.P50.Low, High: s.P50.High, Unit: "s"}}
	}
	return view.Cell{}
}

// otherWorkloads are those that neither start guests nor fill the host.
func otherWorkloads(res *analyze.Result) []string {
	return slices.DeleteFunc(Workloads(res), func(w string) bool {
		return slices.ContainsFunc(res.Starts, func(s analyze.Start) bool { return s.Workload == w }) ||
			slices.ContainsFunc(res.Fills, func(f analyze.Fill) bool { return f.Workload == w })
	})
}
