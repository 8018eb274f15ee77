package xen

import (
	"context"
	"errors"
	"time"

	"github.com/tare-bench/tare/internal/xenctl"
)

// pollInterval is the interval between checks whether another process has done something.
const pollInterval = 20 * time.Millisecond

// poll waits until done returns true or an error. It returns that error, or gone if the guest ends
// first, or the cause if ctx is done. With a nil ended, the guest does not end.
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

// holds returns a function for poll: it reports whether a node of the store exists and has this
// value; "" stands for any value.
func holds(store *xenctl.Store, path, value string) func() (bool, error) {
	return func() (bool, error) {
		got, err := store.Read(path)
		if errors.Is(err, xenctl.ErrNotThere) {
			return false, nil
		}
		return err == nil && (value == "" || got == value), err
	}
}
