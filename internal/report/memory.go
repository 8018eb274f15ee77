package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/store"
)

// Memory is what guests cost the host besides time; empty for an old run that did not measure it.
func Memory(res *analyze.Result, merging string) (s Section) {
	if !slices.ContainsFunc(res.Memory, func(m analyze.Memory) bool { return m.Idle.N > 0 }) {
		return s
	}
	return sectionOf("Memory", memoryLegend+merging, rowsFor([]string{"memory", "size", "guests", "start", "idle",
		"at work", "after", "host lost", "charged"}, res.Memory, memoryCells))
}

// memoryLegend explains the headings. What the host merges follows it.
const memoryLegend = "idle: proportional set size (PSS) of everything that belongs to a guest before its first " +
	"trial, VMM included; a range if guests differ by more than 5 %; at work: PSS halfway through a trial, for the " +
	"workload that needs most; after: PSS when all work is done and the guest has returned the memory that it frees; " +
	"host lost: decrease of the host's available memory, per guest created; charged: what the control group is " +
	"charged before the first trial, page cache included. "

// memoryCells are the figures of the guests of an arm.
func memoryCells(m analyze.Memory) []string {
	idle, lost := "not known", ""
	if m.Idle.N > 0 {
		idle, lost = memorySpan(m.Idle), InUnit("B", m.HostEach, 3)
	}
	work := ""
	if len(m.Working) > 0 {
		most := slices.MaxFunc(m.Working, func(a, b analyze.WorkingMemory) int { return cmp.Compare(a.PSS.Mean, b.PSS.Mean) })
		work = InUnit("B", most.PSS.Mean, 3)
	}
	return []string{Clean(m.Arm), InUnit("B", float64(m.Size), 3) + " " + Clean(m.Flavor), fmt.Sprint(m.Guests),
		InUnit("s", m.Start.Mean, 3), idle, work, memorySpan(m.After), lost, memorySpan(m.Charged)}
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
