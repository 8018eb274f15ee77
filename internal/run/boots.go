package run

import (
	"context"
	"fmt"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/plan"
)

// OtherBoot is the error of a run that continues in another boot of the host.
type OtherBoot struct{ campaign.Boot }

func (e *OtherBoot) Error() string {
	return fmt.Sprintf("the run continues after the host is rebooted as %s", e.Name)
}

// rounds makes the trials that belong to this boot of the host. It returns
// *OtherBoot if the remaining trials need another boot. That may be one of the
// same kind, since a boot belongs to one round.
func (r *runner) rounds(ctx context.Context) error {
	mine, known, err := r.Store.GenerationInBoot(r.BootID)
	if err != nil {
		return storeErr(err)
	}
	r.state, r.count = plan.NewState(), map[plan.Cell]int{}
	for {
		b, boot, left := r.Plan.NextInBoots(r.isDone)
		r.summary.Passes = b
		if len(left) == 0 {
			r.summary.Reason, r.summary.Complete = plan.ReasonBlocks, true
			return nil
		}
		// The budget ends a run only between rounds: half a round is useless.
		if b > 0 && b%r.Plan.RecreateEvery == 0 && r.untouched(b) && !r.Plan.Rule.Fits(r.spent(), 0) {
			r.summary.Reason, r.summary.Complete = plan.ReasonBudget, true
			return nil
		}
		round := r.Plan.Round(b)
		if boot.Name != r.Boot || known && round != mine {
			return &OtherBoot{boot}
		}
		mine, known = round, true
		if err := r.prepare(ctx, left, func(*guest) int { return round }); err != nil {
			return err
		}
		begin := time.Now()
		for i, g := range left {
			if err := r.group(ctx, g,
				Event{Pass: b, Passes: r.Plan.Rule.Max, Left: r.left(r.Plan.Rule.Max, b, i, len(left))}); err != nil {
				return err
			}
		}
		r.Progress(Event{Kind: PassDone, Pass: b, Passes: r.Plan.Rule.Max, Took: time.Since(begin)})
	}
}

// untouched reports whether no trial of the block has been made in any boot.
func (r *runner) untouched(b int) bool {
	for id := range r.finished {
		if id.Block == b {
			return false
		}
	}
	return true
}
