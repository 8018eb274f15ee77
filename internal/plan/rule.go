package plan

import (
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// Rule decides how many blocks a run has. It never looks at whether a
// difference is significant: each workload has a fixed number, or goes on until
// its intervals are as narrow as asked for (fixed width by Chow and Robbins), or
// the clock ends the run.
type Rule struct {
	campaign.Blocks
	Precision campaign.Percent // 0: none asked for
	Budget    time.Duration    // 0: none
}

// RuleOf is the rule of a campaign.
func RuleOf(c *campaign.Campaign) Rule {
	return Rule{c.Blocks, c.Precision, c.Budget}
}

// Reason says why a run has enough blocks.
type Reason string

const (
	// ReasonBlocks: the number of blocks that the campaign asks for is done.
	ReasonBlocks Reason = "blocks"
	// ReasonPrecision: every workload has reached the precision.
	ReasonPrecision Reason = "precision"
	// ReasonMax: the precision needs more, and the campaign allows no more.
	ReasonMax Reason = "max"
	// ReasonBudget: another block would pass the budget.
	ReasonBudget Reason = "budget"
)

// Fits reports whether something that takes so long is likely to end within
// the budget; spent is the time of the run so far, over all its resumptions. The
// budget is hard: it holds even where it leaves a run with fewer blocks than
// Min, which the report must then say.
func (r Rule) Fits(spent, next time.Duration) bool {
	return r.Budget == 0 || spent+next <= r.Budget
}
