package xen

import (
	"context"
	"errors"
	"time"

	"github.com/tare-bench/tare/internal/xenctl"
)

// pollInterval is how often it is looked whether what somebody else does is done.
const pollInterval = 20 * time.Millisecond

// poll returns when done says so or fails, with gone when the guest has ended
// first, and with the context's cause. A nil ended is a guest that does not.
func poll(ctx context.Context, ended <-chan struct{}, gone error, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ended:
			return gone
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// holds is for poll: whether a node of the store is there with this value, or
// with any where that is "".
func holds(store *xenctl.Store, path, value string) func() (bool, error) {
	return func() (bool, error) {
		got, err := store.Read(path)
		if errors.Is(err, xenctl.ErrNotThere) {
			return false, nil
		}
		return err == nil && (value == "" || got == value), err
	}
}
