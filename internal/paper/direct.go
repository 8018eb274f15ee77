package paper

import (
	"cmp"
	"fmt"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/stats"
)

// direct reports whether a claim compares two systems of the article, or two workloads, or says how much; the verdicts
// of a run are about each arm and the baseline.
func (c measuredClaim) direct() bool {
	return c.than != "" || c.against != "" || c.beside != "" || c.by != 0
}

// saysWords are what claims say about a system.
var saysWords = map[string]string{"costs": "slower", "gains": "faster", "none": "no difference"}

// text is what the claim says.
func (c measuredClaim) text() string {
	text := saysWords[c.says]
	switch {
	case c.by == 0:
	case c.says == "none":
		text += fmt.Sprintf(" of %g %%", c.by)
	default:
		text = fmt.Sprintf("at least %g times %s", c.by, text)
	}
	switch {
	case c.than != "" && c.says == "none":
		text += " from " + c.than
	case c.than != "":
		text += " than " + c.than
	}
	if other := cmp.Or(c.against, c.beside); other != "" {
		text += " against " + other
	}
	return text
}

// compare judges a direct claim by the ratio of the geometric means of both sides, with Welch's 95 % interval over
// guests, which tare re-creates throughout a run.
func (p *Results) compare(m measuredClaim, c *PageClaim) {
	rep := p.Repetition
	one, other := rep.guest(m.system), rep.guest(cmp.Or(m.than, m.system))
	if m.than == "" && m.against == "" && m.beside == "" { // a bound on a cost against the baseline
		other = Guest{As: rep.Base}
	}
	untold := func(why string) { c.Verdict = Verdict{Holds: CannotBeTold, Why: why} }
	for _, g := range []Guest{one, other} {
		if g.As == "" {
			untold(g.Why)
			return
		}
	}
	key := func(g Guest, series, metric string) Key {
		return p.there(Key{Stage: m.stage, Series: series, Metric: metric, System: g.arm(), Scenario: m.scenario})
	}
	of := key(one, m.series, m.metric)
	to := key(other, cmp.Or(m.against, m.series), cmp.Or(m.beside, m.metric))
	st, base := p.measured(of), p.measured(to)
	c.Cell.As, c.Cell.N, c.Cell.Now, c.Cell.Why = one.As, st.N, nil, ""
	switch {
	case st.N == 0 || base.N == 0:
		c.Cell.Why = orNothing(cmp.Or(st.Why, base.Why))
		untold(c.Cell.Why)
		return
	case of == to:
		untold(one.As + " takes the place of both")
		return
	case st.Emulated || base.Emulated:
		c.Cell.Emulated = true
		untold("it needs hardware virtualization, and " + one.As + " emulates the CPU")
		return
	}
	ln, err := stats.Welch(p.guests[of], p.guests[to], dataset.DefaultAlpha)
	if err != nil {
		untold("it needs at least two guests of each: a longer --budget")
		return
	}
	if st.Higher { // above 1 is worse
		ln.Estimate, ln.Low, ln.High = -ln.Estimate, -ln.High, -ln.Low
	}
	ratio := claim.Of(ln)
	low, high := ratio.Percents()
	c.Cell.Now = &Cost{Percent: 100 * (ratio.Ratio - 1), Interval: report.CostInterval(ratio.Ends()), low: low, high: high}
	c.Verdict = m.judged(ratio, one.As)
}

// judged says whether the interval of a ratio, above 1 for the worse, is what the claim says.
func (m measuredClaim) judged(ratio claim.Estimate, by string) Verdict {
	lowest, highest := ratio.Ends()
	factor := max(m.by, 1)
	text := report.CostInterval(lowest, highest)
	verdict := func(holds, not bool) Verdict {
		switch {
		case holds:
			return Verdict{HoldsHere, text, by}
		case not:
			return Verdict{HoldsNot, text, by}
		}
		return Verdict{Holds: CannotBeTold, Why: "not resolved: " + text + "; more guests, a longer --budget"}
	}
	switch m.says {
	case "costs":
		return verdict(lowest > factor, highest < factor)
	case "gains":
		return verdict(highest < 1/factor, lowest > 1/factor)
	}
	delta := cmp.Or(m.by/100, smallest/100.0)
	return verdict(ratio.Within(delta), lowest > 1+delta || highest < 1/(1+delta))
}
