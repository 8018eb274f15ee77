package watch

import "time"

// Clocks are the host's clocks at one instant, recorded before and after each trial. A step between
// the two invalidates times by the wall clock.
type Clocks struct {
	Realtime  time.Duration // since 1970
	Monotonic time.Duration // since boot, without suspend
	Boottime  time.Duration // since boot, with suspend
	Error     time.Duration // at most how far apart the clocks were read
}

// clockStep is the threshold above which a change of offset is a step. Slewing cannot cause one,
// because it affects both clocks equally.
const clockStep = time.Millisecond

// ClockChange is the change of the clocks between two readings.
type ClockChange struct {
	Step      time.Duration // CLOCK_REALTIME was set forward (or back, if negative), suspend excluded
	Suspended time.Duration // the host was suspended
	Error     time.Duration // of Step and Suspended
}

// Since compares c with an earlier reading of the same boot.
func (c Clocks) Since(earlier Clocks) ClockChange {
	suspended := (c.Boottime - c.Monotonic) - (earlier.Boottime - earlier.Monotonic)
	step := (c.Realtime - c.Boottime) - (earlier.Realtime - earlier.Boottime)
	return ClockChange{Step: step, Suspended: suspended, Error: c.Error + earlier.Error}
}

// Stepped reports whether the wall clock was set by more than a millisecond and more than the error
// of the readings.
func (c ClockChange) Stepped() bool { return c.Step.Abs() > max(clockStep, c.Error) }

// WasSuspended reports whether the host was suspended, in which case the trial does not count.
func (c ClockChange) WasSuspended() bool { return c.Suspended > max(clockStep, c.Error) }
