package analyze

import (
	"github.com/tare-bench/tare/internal/claim"
)

// Fewest units with which anything is said.
const (
	minUnits      = 3 // of a cost or gain
	minNoneGuests = 5 // of "no overhead" of guests of this kind
	minNoneThese  = 8 // and of these guests
)

// rule is what claims are made by.
func (a *analysis) rule() claim.Rule { return claim.Rule{Alpha: a.in.Alpha, Delta: a.in.Delta} }

// decide says what may be claimed.
func (a *analysis) decide() error {
	var tested []claim.Hypothesis
	for _, c := range a.all() {
		if a.testable(c) {
			tested = append(tested, a.hypothesis(c))
		}
	}
	return a.rule().Judge(tested)
}

// hypothesis is a comparison that something may be claimed of.
func (a *analysis) hypothesis(c *comparison) claim.Hypothesis {
	h := claim.Hypothesis{Family: c.Family, Class: c.class, Estimate: c.Estimate, Test: &c.Test, Verdict: &c.Verdict,
		NoNone: c.Units < minNoneGuests}
	if c.Control && c.class != FamilyTails {
		h.Class = "" // whether this host is steady is one question
	}
	if c.Scope == ScopeTheseGuests {
		h.NoNone = c.Units < minNoneThese
	}
	// Duets are so precise that they see what sets apart two guests of a kind.
	luck := c.class == FamilyAtOnce && c.Scope != ScopeGuests
	h.NoEffect = c.Control || !c.guarded() || luck
	return h
}

// testable reports whether anything may be claimed of c at all. Where the host
// was booted anew, blocks of fewer than 4 boots say nothing of others.
func (a *analysis) testable(c *comparison) bool {
	return c.tested && c.Units >= minUnits && !c.Coarse && (!a.in.Boots || c.Scope == ScopeGuests)
}

// guarded reports whether A/A pairs say what the host shows beyond chance: there
// are some of this metric, and enough of the class for an estimate.
func (c *comparison) guarded() bool { return c.HasControl && c.est.placebos > 0 }
