package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// fakeKmsg answers reads from a script of records and errors, then EAGAIN.
func fakeKmsg(script ...any) *KernelLog {
	return newKernelLog(func(b []byte) (int, error) {
		if len(script) == 0 {
			return 0, unix.EAGAIN
		}
		next := script[0]
		script = script[1:]
		if err, ok := next.(error); ok {
			return 0, err
		}
		return copy(b, next.(string)), nil
	}, func() error { return nil })
}

func TestKernelLogDrain(t *testing.T) {
	k := fakeKmsg("6,10,1,-;fine", "3,11,2,-;I/O error, dev sda", unix.EINTR, unix.EPIPE,
		"4,20,3,-;watchdog: BUG: soft lockup - CPU#0 stuck for 22s!")
	d, err := k.Drain()
	if err != nil || d.Lost != 8 || len(d.Messages) != 2 ||
		d.Messages[0].Kind != IOError || d.Messages[1].Kind != SoftLockup {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := k.Drain(); err != nil || d.Messages != nil || d.Lost != 0 {
		t.Errorf("again: %+v, %v", d, err)
	}
	if err := errors.Join(k.Close(), k.Close()); err != nil {
		t.Error(err)
	}
	if _, err := k.Drain(); fault.KindOf(err) != fault.Host {
		t.Errorf("drained when closed: %v", err)
	}
	if d, err := fakeKmsg(unix.EPIPE, "6,10,1,-;x").Drain(); err != nil || d.Lost != 1 {
		t.Errorf("lost before the first: %+v, %v", d, err)
	}
	for _, bad := range []any{unix.EINVAL, "no record"} {
		if _, err := fakeKmsg(bad).Drain(); fault.KindOf(err) != fault.Host {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestKernelLogIsBounded(t *testing.T) {
	var script []any
	for i := range 500 {
		script = append(script, fmt.Sprintf("3,%d,1,-;I/O error, %s", i+1, strings.Repeat("x", 1000)))
	}
	d, err := fakeKmsg(script...).Drain()
	if err != nil || len(d.Messages) != maxDistress || len(d.Messages[0].Text) > maxText+3 {
		t.Errorf("%d messages, %v", len(d.Messages), err)
	}
}

func TestKernelLogLive(t *testing.T) {
	k, err := OpenKernelLog()
	if err != nil {
		if fault.RemedyOf(err) == "" {
			t.Errorf("no remedy: %v", err)
		}
		t.Skip(err)
	}
	defer k.Close()
	if _, err := k.Drain(); err != nil {
		t.Error(err)
	}
}

func TestLagLive(t *testing.T) {
	l := StartLag(5 * time.Millisecond)
	w := l.Window()
	for enough, start := false, time.Now(); !enough && time.Since(start) < 30*time.Second; {
		time.Sleep(20 * time.Millisecond)
		l.mu.Lock()
		enough = w.wakeups > 3
		l.mu.Unlock()
	}
	longest, ok := w.End()
	l.Stop()
	l.Stop()
	if !ok || longest < 0 {
		t.Errorf("%v, %v", longest, ok)
	}
	if longest, ok := l.Window().End(); ok {
		t.Errorf("a stopped probe counts: %v", longest)
	}
}

func TestClocksLive(t *testing.T) {
	a, err := ReadClocks()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	b, err := ReadClocks()
	if err != nil {
		t.Fatal(err)
	}
	if c := b.Since(a); c.Error <= 0 || b.Monotonic-a.Monotonic < 20*time.Millisecond {
		t.Errorf("%+v", c)
	}
}
