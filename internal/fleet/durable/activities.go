package durable

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet/collect"
)

// Machine is what a worker can do on its machine. Package durable calls one method at a time. All but
// Reboot may be killed at any point and are then called again. Errors have a kind: fault.Campaign is
// final, every other is tried again.
type Machine interface {
	// Doctor returns what tare doctor --json prints there, about a campaign if it is not nil, and an error if the machine
	// cannot measure at all.
	Doctor(ctx context.Context, campaign []byte) (report string, err error)
	// Prepare makes the run known on the machine, gets the image, and refuses a campaign that cannot be run there. note is
	// what to know of the figures; "": nothing.
	Prepare(ctx context.Context, t Task) (note string, err error)
	// Measure makes the trials that the run lacks. When ctx ends, it ends the trial in progress and
	// removes all guests before it returns.
	Measure(ctx context.Context, t Task, progress func(Progress)) (Outcome, error)
	// Booted is the id of the boot that the host is in.
	Booted() (string, error)
	// Reboot boots the host. It returns before the host goes down.
	Reboot(ctx context.Context, t Task) error
	// RunFile is the path of the run's file, which need not be there.
	RunFile(t Task) string
}

// activities are those of a machine.
type activities struct {
	name, build string
	machine     Machine
	collector   *collect.Client
}

// Doctor refuses a machine that has another build of tare, or cannot measure.
func (a *activities) Doctor(ctx context.Context, t Task) error {
	_, err := a.Report(ctx, t)
	return err
}

// Report is Doctor with what it found, which would be too much for the history of a fleet's workflow.
func (a *activities) Report(ctx context.Context, t Task) (report string, err error) {
	err = a.do(ctx, t, func(ctx context.Context) error {
		report, err = a.machine.Doctor(ctx, t.Campaign)
		return err
	})
	return report, err
}

// Prepare makes the run known on the machine, and gets the image.
func (a *activities) Prepare(ctx context.Context, t Task) (note string, err error) {
	err = a.do(ctx, t, func(ctx context.Context) error {
		note, err = a.machine.Prepare(ctx, t)
		return err
	})
	return note, err
}

// Measure makes the trials that the run file on the machine lacks.
func (a *activities) Measure(ctx context.Context, t Task) (out Outcome, err error) {
	if err := a.same(t); err != nil {
		return out, err
	}
	ctx, end := untilStopped(ctx)
	defer end()
	var last Progress
	beat := newHeart(ctx)
	out, err = a.machine.Measure(ctx, t, func(p Progress) {
		last = p
		beat.details(p)
	})
	beat.stop()
	return out, asActivityError(ctx, err, last)
}

// Reboot boots the host into what the run needs next. The worker ends with the host. The one that
// starts in the new boot gets the same activity again, and completes it.
func (a *activities) Reboot(ctx context.Context, t Task) error {
	return a.do(ctx, t, func(ctx context.Context) error {
		now, err := a.machine.Booted()
		if err != nil || now != t.Boot.From {
			return err
		}
		if err := a.machine.Reboot(ctx, t); err != nil {
			return err
		}
		<-ctx.Done() // nothing else must begin here
		return ctx.Err()
	})
}

// Collect brings the run file to the collector, and returns its hash.
func (a *activities) Collect(ctx context.Context, t Task) (sum string, err error) {
	err = a.do(ctx, t, func(ctx context.Context) error {
		sum, err = a.collector.Send(ctx, collect.Name{Fleet: t.Fleet, Machine: t.Machine, Run: t.Run}, a.machine.RunFile(t))
		return err
	})
	return sum, err
}

// do does what gives no progress, with heartbeats, if the task is for this worker.
func (a *activities) do(ctx context.Context, t Task, what func(context.Context) error) error {
	if err := a.same(t); err != nil {
		return err
	}
	ctx, end := untilStopped(ctx)
	defer end()
	beat := newHeart(ctx)
	defer beat.stop()
	return asActivityError(ctx, what(ctx))
}

// same refuses a task for another machine or another build of tare: figures of different builds do
// not belong in one fleet.
func (a *activities) same(t Task) error {
	switch {
	case t.Machine != a.name:
		return temporal.NewNonRetryableApplicationError("a task for "+t.Machine+" came to "+a.name, campaignError, nil)
	case t.Build != a.build:
		err := fault.WithRemedy(fault.Campaignf("%s has another build of tare, %s, than the fleet's run, %s",
			a.name, short(a.build), short(t.Build)), "install the same program on all machines, restart their workers "+
			"(tare fleet worker), then tare fleet resume")
		return temporal.NewNonRetryableApplicationError(err.Error(), buildError, nil)
	}
	return nil
}

// untilStopped is ctx, which also ends when the worker is being stopped.
func untilStopped(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancel(ctx)
	stop := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-inner.Done():
		}
	}()
	return inner, cancel
}

// heart beats until it is stopped: cancellation of an activity comes with the answer to a heartbeat.
type heart struct {
	says chan Progress
	end  chan struct{}
	done chan struct{}
}

func newHeart(ctx context.Context) *heart {
	h := &heart{make(chan Progress, 1), make(chan struct{}), make(chan struct{})}
	every := min(max(activity.GetInfo(ctx).HeartbeatTimeout/4, 100*time.Millisecond), beatTime)
	go func() {
		defer close(h.done)
		var last Progress
		for {
			activity.RecordHeartbeat(ctx, last)
			select {
			case last = <-h.says:
			case <-time.After(every):
			case <-h.end:
				return
			}
		}
	}()
	return h
}

// details are what the next heartbeat says.
func (h *heart) details(p Progress) {
	select {
	case h.says <- p:
	case <-h.done:
	}
}

func (h *heart) stop() {
	close(h.end)
	<-h.done
}
