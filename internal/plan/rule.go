package plan

import (
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// Rule decides how many blocks a run has. It never looks at whether a
// difference is significant: the number is fixed, or computed once from the
// spread of the first Min blocks (Stein's two stages), or set by the clock.
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
	// ReasonPrecision: as many as the precision needs are done.
	ReasonPrecision Reason = "precision"
	// ReasonMax: the precision needs more, and the campaign allows no more.
	ReasonMax Reason = "max"
	// ReasonBudget: another block would pass the budget.
	ReasonBudget Reason = "budget"
)

// Target is the number of blocks to reach, were there no budget, and why it is
// that. stein is the number that the first Min blocks call for, the largest
// over all comparisons; 0: they call for no more, or are not done yet.
func (r Rule) Target(stein int) (int, Reason) {
	switch {
	case r.Precision == 0:
		return r.Max, ReasonBlocks
	case stein > r.Max:
		return r.Max, ReasonMax
	default:
		return max(r.Min, stein), ReasonPrecision
	}
}

// Fits reports whether another block is likely to end within the budget:
// elapsed is the time since the run began, over all its resumptions, and mean
// that of a block so far. The budget is hard: it holds even where it leaves a
// run with fewer blocks than Min, which the report must then say.
func (r Rule) Fits(elapsed, mean time.Duration) bool {
	return r.Budget == 0 || elapsed+mean <= r.Budget
}

// More reports whether block number done (from 0) is to be run, and if not,
// why not. The first block always is.
func (r Rule) More(done, stein int, elapsed, mean time.Duration) (bool, Reason) {
	target, reason := r.Target(stein)
	switch {
	case done >= target:
		return false, reason
	case done > 0 && !r.Fits(elapsed, mean):
		return false, ReasonBudget
	}
	return true, ""
}
