// Package durable measures a campaign on the machines of a fleet as workflows of Temporal, which
// outlive every process that takes part: the client that started them, the server with the fleet's
// workflows, and the workers on the machines.
//
// # Who does what
//
// One workflow is a run of the fleet. It has a child workflow for each machine, and never lets more
// than Order.Busy machines be busy at once. Both are executed by a Coordinator, whose task queue has
// the hash of its program in its name: a workflow is continued by the build that began it alone.
//
// On each machine, a Worker polls a task queue that is named after the machine, and executes one
// activity at a time: Doctor, Report, Prepare, Measure, Reboot and Collect. Nothing but the queue's name ties
// a machine to its worker, so a worker may be killed and started again at any time.
//
// # What survives
//
// Activities are idempotent. Measure takes what is done from the run file on the machine, never from
// Temporal, so a repeated Measure resumes the run. Its heartbeats say only how far it is, and bring
// cancellation to it.
//
// An activity is attempted once by Temporal; the machine's workflow repeats it, since it can tell a
// worker that was killed (repeated as long as trials are being added), a fault of the host (repeated
// up to Order.Retries times without a new trial) and the campaign's fault (final).
//
// Run files do not pass through Temporal: Collect brings them to where package collect serves.
package durable

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/tare-bench/tare/internal/fault"
)

// Order is what a run of the fleet is to do: the input of its workflow.
type Order struct {
	Fleet    string
	Run      string // name of the run, on the machines and at the collector
	Build    string // hash of the program that all machines must have
	Campaign []byte // its file
	Args     []string
	Image    string // id of the userland image at the collector; "": machines have or build it
	Machines []string
	Busy     int // how many machines may be busy at once; 0: all
	Retries  int // faults of a host in a row, without a new trial, after which it fails; 0: 5

	// Heartbeat is after which silence a worker counts as dead; 0: a minute.
	Heartbeat time.Duration
	// Pause is the first pause before an activity is repeated, which doubles up to a hundred times
	// as long; 0: 5 s.
	Pause time.Duration

	// Turn is how many machines are asked, and measured, before the fleet's workflow continues as a new one with the
	// machines after them; 0: 400. A workflow may have 51,200 events and 50 MB of history, of which a machine makes about
	// 9 events, and once the size of the campaign's file.
	Turn int
	// Patience is how long a machine may be off before it waits for another turn, if machines wait for theirs; 0: 5
	// minutes. If none do, it is waited for.
	Patience time.Duration

	// Earlier has what became of machines before the workflow was continued as a new one, or before
	// the run was resumed. Those which are done are not asked again.
	Earlier map[string]Result
}

// Task is what an activity on a machine is about.
type Task struct {
	Fleet, Run, Machine, Build string
	Campaign                   []byte // for Prepare and Report
	Args                       []string
	Image                      string // for Prepare
	Boot                       Boot   // for Reboot
}

// State is how far a machine is.
type State string

const (
	Waiting   State = "waiting"   // for its worker, or for other machines to be over
	Measuring State = "measuring" // its child workflow runs
	Done      State = "done"      // the run is complete, and its file is at the collector
	Cancelled State = "cancelled" // the run can be resumed
	Failed    State = "failed"    // Result.Error says why
)

// Result is what became of a machine's run.
type Result struct {
	State State
	Code  int // tare's exit status, if it is done
	// Trials is how many trials the run file has.
	Trials int
	SHA256 string // of the run file at the collector; "": it is not there
	Note   string // what to know of its figures; "": nothing
	Error  string
}

// Over reports whether nothing more will come by itself.
func (r Result) Over() bool { return r.State != Waiting && r.State != Measuring }

// Progress is how far a run is: the details of a heartbeat.
type Progress struct {
	Trials   int    // in the run file
	Block    int    // in which the run is, from 1; 0: none has begun
	Attempts int    // at trials
	Log      string // last line of tare's output
}

// Outcome is how a Measure ended.
type Outcome struct {
	Code   int // tare's exit status
	Trials int
	Next   Boot // the run continues in this boot of the host; no name: it is complete
}

// Boot is a way in which a host can be booted.
type Boot struct {
	Name  string // as the campaign has it
	Entry string // of GRUB's menu
	From  string // id of the boot from which the host is rebooted
}

// Names of the errors of activities, by which a workflow tells whose fault they are.
const (
	campaignError = "campaign" // final
	buildError    = "build"    // final: the machine has another build of tare
	hostError     = "host"     // repeated
)

// HostQueue is the task queue of a machine.
func HostQueue(machine string) string { return "tare-host/" + machine }

// FleetQueue is the task queue of the workflows of a build.
func FleetQueue(build string) string { return "tare-fleet/" + short(build) }

// ID is the id of the workflow of a fleet's run.
func ID(fleet, run string) string { return "tare-fleet/" + fleet + "/" + run }

// MachineID is the id of the workflow of a machine in a fleet's run.
func MachineID(fleet, run, machine string) string { return ID(fleet, run) + "/" + machine }

// doctorID is the id of the workflow that asks a machine what it can measure.
func doctorID(fleet, machine string) string { return "tare-doctor/" + fleet + "/" + machine }

// short is enough of a hash to tell builds apart.
func short(hash string) string { return hash[:min(12, len(hash))] }

// asActivityError makes an error of an activity of err, typed by whose fault it was.
func asActivityError(ctx context.Context, err error, details ...any) error {
	stopped := false // the worker, by SIGTERM: another one will do it
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		stopped = true
	default:
	}
	var typed *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !stopped:
		return temporal.NewCanceledError()
	case errors.As(err, &typed):
		return err
	case fault.KindOf(err) == fault.Campaign && !stopped:
		return temporal.NewNonRetryableApplicationError(err.Error(), campaignError, err)
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), hostError, temporal.ApplicationErrorOptions{
		Details: details})
}

// words is an error of an activity without what Temporal adds to it.
func words(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	var late *temporal.TimeoutError
	if errors.As(err, &late) {
		return "its worker was silent for too long"
	}
	return strings.TrimSpace(err.Error())
}
