package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// Memory is what guests cost the host besides time; empty for an old run that did not measure it.
func Memory(res *analyze.Result, merging string) *view.Section {
	s := &view.Section{ID: "memory", Title: "Memory and start"}
	if !slices.ContainsFunc(res.Memory, func(m analyze.Memory) bool { return m.Idle.N > 0 }) {
		return s
	}
	t := tableFor("memory", "Memory and start of guests, by system", []string{"size", "guests", "start", "idle", "at work",
		"after", "host lost", "charged"}, res.Memory, memoryCells)
	t.Legend = memoryLegend + merging
	work := &view.Table{Name: "memory at work", Caption: "Memory of a guest at work, by system and workload", Detail: true,
		Fold: "At work, by workload", Columns: view.Heads("", "workload", "proportional set size")}
	for _, m := range res.Memory {
		for _, w := range m.Working {
			work.Add(view.Text(m.Arm), view.Text(w.Workload), ofUnit("B", w.PSS.Mean))
		}
	}
	s.Add(t, work)
	return s
}

// memoryLegend explains the headings. What the host merges follows it.
const memoryLegend = "idle: proportional set size (PSS) of everything that belongs to a guest before its first " +
	"trial, VMM included; a range if guests differ by more than 5 %; at work: PSS halfway through a trial, for the " +
	"workload that needs most; after: PSS when all work is done and the guest has returned the memory that it frees; " +
	"host lost: decrease of the host's available memory, per guest created; charged: what the control group is " +
	"charged before the first trial, page cache included. "

// memoryCells are the figures of the guests of an arm.
func memoryCells(m analyze.Memory) []view.Cell {
	idle, lost, work := view.Text("not known"), view.Cell{}, view.Cell{}
	if m.Idle.N > 0 {
		idle, lost = memoryCell(m.Idle), view.Number(InUnit("B", m.HostEach, 3), m.HostEach, "B")
	}
	if len(m.Working) > 0 {
		most := slices.MaxFunc(m.Working, func(a, b analyze.WorkingMemory) int { return cmp.Compare(a.PSS.Mean, b.PSS.Mean) })
		work = ofUnit("B", most.PSS.Mean)
	}
	return []view.Cell{view.Text(m.Arm), view.Text(InUnit("B", float64(m.Size), 3) + " " + m.Flavor), count(m.Guests),
		view.Number(InUnit("s", m.Start.Mean, 3), m.Start.Mean, "s"), idle, work, memoryCell(m.After), lost,
		memoryCell(m.Charged)}
}

func memoryCell(r analyze.Range) view.Cell {
	if r.N == 0 {
		return view.Cell{}
	}
	return view.Cell{Text: memorySpan(r), Figure: &view.Figure{Value: r.Mean, Low: r.Min, High: r.Max, Unit: "B"}}
}

// memorySpan is a mean, or a range if guests differ by more than 5 %; "" if nothing is known.
func memorySpan(r analyze.Range) string {
	sc := ScaleFor("B", r.Max)
	switch {
	case r.N == 0:
		return ""
	case r.Max > 1.05*r.Min && r.N > 1:
		return Digits(r.Min*sc.Factor, 3) + " … " + InUnit("B", r.Max, 3)
	}
	return InUnit("B", r.Mean, 3)
}

// merging says what the host's merging of equal pages did, as recorded at the end
// of each session of a run.
func merging(e *host.Environment, events []store.Event) string {
	var told []string
	for _, e := range events {
		if e.Kind == store.EventKSM {
			told = append(told, e.Text+".")
		}
	}
	switch ksm := e.Memory.KSM; {
	case len(told) > 0:
		return strings.Join(told, " ")
	case ksm == nil:
		return "The host has no KSM."
	case *ksm == 1:
		return "KSM merges equal pages on the host."
	}
	return "KSM is off on the host."
}
