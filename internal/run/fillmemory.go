package run

import (
	"context"
	"math"
	"sync"

	"github.com/tare-bench/tare/internal/host/watch"
)

// lowest is the least memory that the host had available.
type lowest struct {
	swap  bool // free swap counts as memory
	mu    sync.Mutex
	bytes int64
}

// now is how much memory the host has available, in bytes.
func (l *lowest) now() (int64, error) {
	left, err := watch.AvailableMemory()
	if err != nil || !l.swap {
		return left, err
	}
	free, err := watch.FreeSwap()
	return left + free, err
}

// read reads how much memory the host has available, in bytes; 0 if that is not known.
func (l *lowest) read() int64 {
	left, err := l.now()
	if err != nil {
		left = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes = min(l.bytes, left)
	return left
}

// take returns the least memory since the last call, and begins anew.
func (l *lowest) take() int64 {
	l.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	least := l.bytes
	l.bytes = math.MaxInt64
	return least
}

// watch reads the memory regularly until stop is called, and cancels what uses it up if less than reserve
// is left.
func (l *lowest) watch(reserve int64, cancel context.CancelCauseFunc) (stop func()) {
	l.bytes = math.MaxInt64
	return watchMemory(func() (enough bool) {
		enough = l.read() >= reserve
		if !enough {
			cancel(errReserve)
		}
		return enough
	})
}
