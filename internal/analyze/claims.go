package analyze

import (
	"github.com/tare-bench/tare/internal/stats"
)

// Fewest units with which anything is said.
const (
	minUnits      = 3 // of a cost or gain
	minNoneGuests = 5 // of "no overhead" of guests of this kind
	minNoneThese  = 8 // and of these guests
)

// decide adjusts p-values among each family, and says what may be claimed.
func (a *analysis) decide() error {
	type family struct{ name, class Family }
	for _, of := range grouped(a.all(), func(c *comparison) family {
		if c.Control && c.class != FamilyTails {
			return family{name: c.Family} // whether this host is steady is one question
		}
		return family{c.Family, c.class}
	}) {
		if err := a.adjust(of, func(c *comparison) float64 { return c.P },
			func(c *comparison, p float64) { c.PHolm = p }); err != nil {
			return err
		}
		if err := a.adjust(of, func(c *comparison) float64 { return c.EquivalenceP },
			func(c *comparison, p float64) { c.EquivalencePHolm = p }); err != nil {
			return err
		}
	}
	for _, c := range a.all() {
		c.Verdict = a.verdict(c)
	}
	return nil
}

// adjust corrects the p-values of all that is tested for their number.
func (a *analysis) adjust(family []*comparison, p func(*comparison) float64, set func(*comparison, float64)) error {
	var tested []*comparison
	var values []float64
	for _, c := range family {
		if a.testable(c) {
			tested, values = append(tested, c), append(values, p(c))
		}
	}
	adjusted, err := stats.Holm(values)
	if err != nil {
		return errorf("%w", err)
	}
	for i, c := range tested {
		set(c, adjusted[i])
	}
	return nil
}

// testable reports whether anything may be claimed of c at all. Where the host
// was booted anew, blocks of fewer than 4 boots say nothing of others.
func (a *analysis) testable(c *comparison) bool {
	return c.tested && c.Units >= minUnits && !c.Coarse && (!a.in.Boots || c.Scope == ScopeGuests)
}

// guarded reports whether A/A pairs say what the host shows beyond chance: there
// are some of this metric, and enough of the class for an estimate.
func (c *comparison) guarded() bool { return c.HasControl && c.est.placebos > 0 }

// verdict says what may be claimed of c; see Verdict for the rules. A claim of
// cost or gain goes before "none": it says more, also of a small effect.
func (a *analysis) verdict(c *comparison) Verdict {
	if !a.testable(c) {
		return NotResolved
	}
	// Duets are so precise that they see what sets apart two guests of a kind.
	luck := c.class == FamilyAtOnce && c.Scope != ScopeGuests
	if !c.Control && c.guarded() && c.PHolm < a.in.Alpha && !luck {
		if c.est.Low > 0 {
			return Costs
		}
		return Gains
	}
	enough := c.Units >= minNoneGuests
	if c.Scope == ScopeTheseGuests {
		enough = c.Units >= minNoneThese
	}
	if enough && c.EquivalencePHolm < a.in.Alpha && stats.Equivalent(c.est.Interval, a.in.Delta) {
		return None
	}
	return NotResolved
}
