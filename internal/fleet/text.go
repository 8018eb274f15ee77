package fleet

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// Text words a share.
func (s Share) Text() string {
	if !s.Known {
		return "–"
	}
	if s.High == 0 {
		return fmt.Sprintf("%.0f %% (too few)", s.Percent)
	}
	return fmt.Sprintf("%.0f %% (%.0f … %.0f)", s.Percent, s.Low, s.High)
}

// Title names the workload, and the metric if it is not the primary one.
func (c Cost) Title() string {
	if c.Family == analyze.FamilyPrimary || c.Family == analyze.FamilyEmulated {
		return c.Workload
	}
	return c.Workload + " " + c.Metric
}

// Words words the verdict on a pooled cost.
func (p *Pooled) Words(delta float64) string {
	if p.Verdict == claim.None {
		return fmt.Sprintf("none (within ±%.3g %%)", 100*delta)
	}
	return cmp.Or(claim.CostWords[p.Verdict], report.NotResolved(p.FartherPercent))
}

// Spread words a standard deviation of ln costs.
func Spread(tau float64) string {
	return "±" + report.Digits(min(100*math.Expm1(tau), report.MostPercent), 2) + " %"
}

// sentence says by what a machine is odd.
func (o Odd) sentence() string {
	var parts []string
	for _, c := range o.Costs {
		parts = append(parts, fmt.Sprintf("%s on %s costs %s here; on the others it costs %s, which suggests %s",
			c.Arm, c.Workload, report.Cost(c.Here), report.Cost(c.Ratio), report.CostInterval(c.NextLow, c.NextHigh)))
	}
	return view.And(parts) + "."
}

// lines are what else is different about a machine.
func (o Odd) lines() []string {
	var lines []string
	for _, f := range o.Facts {
		lines = append(lines, fmt.Sprintf("%s: %s; on %d of %d others: %s", f.What, known(f.Is), f.Count, f.Of,
			known(f.Others)))
	}
	for _, n := range o.Noise {
		lines = append(lines, "tare doctor: "+n.What)
	}
	if lines == nil {
		lines = []string{"in every fact that tare records, it is like the other machines"}
	}
	return lines
}

// leftOut lists what is not pooled, with the reasons; machines with the same reason share a line.
func (g *Group) leftOut() []string {
	var lines []string // first the reasons
	machines := map[string][]string{}
	for _, c := range g.Costs {
		for _, l := range c.LeftOut {
			why := fmt.Sprintf("%s on %s: %s", c.Arm, c.Title(), l.Why)
			if machines[why] == nil {
				lines = append(lines, why)
			}
			machines[why] = append(machines[why], l.Machine)
		}
	}
	for i, why := range lines {
		lines[i] = strings.Join(machines[why], ", ") + ": " + why
	}
	return lines
}

// Count words a number of things.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// JSON writes the result for other programs.
func JSON(w io.Writer, r *Result) error { return view.PrintJSON(w, r) }
