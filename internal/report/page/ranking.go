package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// rankings draws the three rankings that articles end with as far as the
// evidence goes, or says what is lacking.
func rankings(res *analyze.Result, d *data) [][2]string {
	return [][2]string{
		{"Performance", performance(res, d)},
		{"Isolation", isolation(res, d)},
		{"Memory", memory(res)},
	}
}

// place is a system in a ranking: what it got in each of the disciplines.
type place struct {
	arm    string
	mean   float64 // of the ratios, ln
	ratios map[string]analyze.Comparison
}

// placed is one system's place, if all of its comparisons are resolved and
// believed; a gain is not, before it is explained.
func placed(res *analyze.Result, arm string, of map[string]analyze.Comparison) (place, bool) {
	p := place{arm: arm, ratios: of}
	for _, c := range of {
		if c.Verdict == analyze.NotResolved || c.Verdict == analyze.Gains || len(report.Doubts(res, c)) > 0 {
			return p, false
		}
		p.mean += math.Log(c.Ratio) / float64(len(of))
	}
	return p, len(of) > 0
}

// ranked words the places in their order. Two whose intervals overlap in every
// discipline share one.
func ranked(places []place, figure func(ratio float64) string) string {
	slices.SortStableFunc(places, func(a, b place) int { return compareFloat(a.mean, b.mean) })
	apart := func(a, b place) bool {
		for what, x := range a.ratios {
			if y, ok := b.ratios[what]; ok && (x.CIHigh < y.CILow || y.CIHigh < x.CILow) {
				return true
			}
		}
		return false
	}
	return inOrder(places, apart, func(p place) string { return fmt.Sprintf("%s (%s)", p.arm, figure(math.Exp(p.mean))) })
}

// inOrder words the places of a list, of which neighbours may share one.
func inOrder[T any](list []T, apart func(a, b T) bool, word func(T) string) string {
	var b strings.Builder
	for i, p := range list {
		switch {
		case i > 0 && apart(list[i-1], p):
			b.WriteString(", then ")
		case i > 0:
			b.WriteString(" and, not told apart, ")
		}
		b.WriteString(word(p))
	}
	return b.String()
}

// performance ranks the arms by what they cost alone.
func performance(res *analyze.Result, d *data) string {
	var places []place
	var left []string
	for _, arm := range d.arms {
		of := map[string]analyze.Comparison{}
		for _, c := range res.Comparisons {
			if c.Primary && !c.Control && c.Arm == arm.Name && c.Baseline == res.Baseline {
				of[c.Workload] = c
			}
		}
		if p, ok := placed(res, arm.Name, of); ok && !arm.Emulated {
			places = append(places, p)
		} else if len(of) > 0 {
			left = append(left, arm.Name)
		}
	}
	if len(places) < 2 {
		return "not drawn: fewer than two systems have figures on every workload that are resolved and can be believed."
	}
	text := ranked(places, func(r float64) string { return report.Percent(100*(r-1)) + " %" }) +
		"; in brackets the geometric mean over workloads, against " + res.Baseline + "."
	if left != nil {
		text += " Without a place, as not all is resolved and believed: " + joinAnd(left) + "."
	}
	return text
}

// isolation ranks the arms, the baseline among them, by how much slower
// company made their guests.
func isolation(res *analyze.Result, d *data) string {
	if len(res.Isolation) == 0 {
		return "not drawn: no guest had company in this run."
	}
	var places []place
	var open, lost []string
	for _, arm := range d.arms {
		of := map[string]analyze.Comparison{}
		died := false
		for _, i := range res.Isolation {
			if i.Primary && i.Baseline == arm.Name {
				of[i.Workload+"@"+i.Scenario] = i.Comparison
				died = died || i.Lost > 0
			}
		}
		p, ok := placed(res, arm.Name, of)
		switch {
		case died:
			lost = append(lost, arm.Name)
		case ok && !arm.Emulated:
			places = append(places, p)
		case len(of) > 0:
			open = append(open, arm.Name)
		}
	}
	text := "not drawn: fewer than two systems have slowdowns in every company that are resolved and can be believed."
	if len(places) > 1 {
		text = ranked(places, func(r float64) string { return report.Digits(r, 3) + "×" }) +
			"; in brackets the slowdown that company caused, the geometric mean over workloads and scenarios."
		if open != nil {
			text += " Without a place, as not all is resolved and believed: " + joinAnd(open) + "."
		}
	}
	if lost != nil {
		text += " Without a place, as guests did not finish: " + joinAnd(lost) + "."
	}
	return text
}

// memory ranks the arms by what an idle guest of theirs takes of the host. Of
// an arm with guests of several flavors, the first one counts. What differs by
// less than a tenth is not told apart: of most arms only a few guests are seen.
func memory(res *analyze.Result) string {
	var known []analyze.Memory
	var unknown []string
	seen := map[string]bool{}
	for _, m := range res.Memory {
		switch {
		case seen[m.Arm]:
		case m.Idle.N > 0:
			known = append(known, m)
		default:
			unknown = append(unknown, m.Arm)
		}
		seen[m.Arm] = true
	}
	if len(known) < 2 {
		return "not drawn: of fewer than two systems is it known how much memory a guest takes."
	}
	slices.SortStableFunc(known, func(a, b analyze.Memory) int { return compareFloat(a.Idle.Mean, b.Idle.Mean) })
	apart := func(a, b analyze.Memory) bool { return !a.Idle.Overlaps(b.Idle) && b.Idle.Mean > 1.1*a.Idle.Mean }
	text := inOrder(known, apart, func(m analyze.Memory) string {
		factor, unit := report.ScaleFor("B", m.Idle.Mean)
		return fmt.Sprintf("%s (%s %s)", m.Arm, report.Digits(m.Idle.Mean*factor, 3), unit)
	}) + "; in brackets what an idle guest takes of the host, with all that runs for it."
	if slices.ContainsFunc(known, func(m analyze.Memory) bool { return m.Idle.N == 1 }) {
		text += " Seen of one guest only where no more were made."
	}
	if unknown != nil {
		text += " Not known: " + joinAnd(unknown) + "."
	}
	return text
}
