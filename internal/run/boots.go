package run

import (
	"context"
	"fmt"

	"github.com/tare-bench/tare/internal/campaign"
)

// OtherBoot says that a run goes on in another boot of the host.
type OtherBoot struct{ campaign.Boot }

func (e *OtherBoot) Error() string {
	return fmt.Sprintf("the run goes on when the host has been booted anew, as %s", e.Name)
}

// rounds runs what there is to do in this boot of the host. It returns
// *OtherBoot when what is left needs another one, be it of the same kind: a
// boot belongs to one round.
func (r *runner) rounds(ctx context.Context) error {
	mine, known, err := r.Store.EpochInBoot(r.BootID)
	if err != nil {
		return storeErr(err)
	}
	for {
		b, boot, left := r.Plan.Next(r.isDone)
		r.summary.Blocks = b
		if len(left) == 0 {
			_, r.summary.Reason = r.Plan.Rule.Target(0)
			r.summary.Complete = true
			return nil
		}
		// The budget ends a run between rounds: half of one is of no use.
		if b%r.Plan.RecreateEvery == 0 && r.untouched(b) {
			if more, reason := r.Plan.Rule.More(b, 0, r.spent(), 0); !more {
				r.summary.Reason, r.summary.Complete = reason, true
				return nil
			}
		}
		round := r.Plan.Epoch(b)
		if boot.Name != r.Boot || known && round != mine {
			return &OtherBoot{boot}
		}
		mine, known = round, true
		if err := r.block(ctx, b, left, 0); err != nil {
			return err
		}
	}
}

// untouched reports whether no trial of the block was made, in whatever boot.
func (r *runner) untouched(b int) bool {
	return len(r.Plan.Remaining(b, r.isDone)) == r.Plan.Trials()
}
