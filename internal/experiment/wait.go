package experiment

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/tare-bench/tare/internal/instance"
)

// lookTime is how often tare looks whether another one has finished, which takes microseconds.
const lookTime = 500 * time.Millisecond

// lock takes the lock of this host, as instance.Lock does, and waits for it as long as Patience says.
func (t *Testbed) lock(ctx context.Context, about string) (*os.File, error) {
	told := ""
	for begin := time.Now(); ; {
		lock, err := instance.Lock(about + " since " + time.Now().Format(time.DateTime))
		left := t.Patience - time.Since(begin)
		if !errors.Is(err, instance.ErrBusy) || left <= 0 {
			return lock, err
		}
		if told != err.Error() {
			told = err.Error()
			t.Waits(err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(left, lookTime)):
		}
	}
}

// Await waits until no other tare measures on this host, as long as Patience says, so that the preparation of a run
// does not disturb the other one.
func (t *Testbed) Await(ctx context.Context) error {
	if t.Patience <= 0 {
		return nil
	}
	lock, err := t.lock(ctx, "a tare that is about to begin")
	if err != nil {
		return err
	}
	return lock.Close()
}
