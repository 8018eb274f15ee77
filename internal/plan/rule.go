package plan

import (
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// Rule decides how many blocks a run has. It never depends on whether a
// difference is significant: each workload has a fixed number of blocks, or
// continues until its intervals are narrow enough (the fixed-width procedure of
// Chow and Robbins), or the time budget ends the run.
type Rule struct {
	campaign.Blocks
	Precision campaign.Percent // 0: none
	Budget    time.Duration    // 0: none
}

// RuleOf returns the rule of a campaign.
func RuleOf(c *campaign.Campaign) Rule {
	return Rule{c.Blocks, c.Precision, c.Budget}
}

// Reason says why a run has enough blocks.
type Reason string

const (
	// ReasonBlocks: the campaign's number of blocks is done.
	ReasonBlocks Reason = "blocks"
	// ReasonPrecision: every workload has reached the precision.
	ReasonPrecision Reason = "precision"
	// ReasonMax: a workload has the most blocks that the campaign allows, and has
	// not reached the precision.
	ReasonMax Reason = "max"
	// ReasonBudget: another block would exceed the budget.
	ReasonBudget Reason = "budget"
)

// Fits reports whether something with the duration next is likely to end within
// the budget; spent is the duration of the run so far, over all its sessions. The
// budget is hard: it holds even if the run then has fewer blocks than Min, which
// the report must say.
func (r Rule) Fits(spent, next time.Duration) bool {
	return r.Budget == 0 || spent+next <= r.Budget
}
