package durable

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/tare-bench/tare/internal/fleet"
)

const (
	// longest is how long an activity may take. A run of days that takes longer is resumed.
	longest = 30 * 24 * time.Hour
	// quick is how long an activity that measures nothing may take.
	quick = 2 * time.Hour
	// mostDeaths is how often in a row a worker may die without a new trial.
	mostDeaths = 100
	// machinesQuery is the query for what became of machines so far.
	machinesQuery = "machines"
)

// FleetWorkflow is a run of a fleet. It ends when all machines are done or failed, and returns what
// became of each. One that fails keeps no other from anything.
func FleetWorkflow(ctx workflow.Context, o Order) (map[string]Result, error) {
	results := make(map[string]Result, len(o.Machines))
	for _, m := range o.Machines {
		results[m] = Result{State: Waiting}
		if r, ok := o.Earlier[m]; ok && r.State != Waiting {
			results[m] = r
		}
	}
	if err := workflow.SetQueryHandler(ctx, machinesQuery, func() (map[string]Result, error) {
		return results, nil
	}); err != nil {
		return nil, err
	}
	var waiting []string
	for _, m := range o.Machines {
		if results[m].State == Waiting {
			waiting = append(waiting, m)
		}
	}
	turn := waiting[:min(len(waiting), cmp.Or(o.Turn, 400))]
	crowded := len(turn) < len(waiting)
	busy := workflow.NewSemaphore(ctx, int64(cmp.Or(o.Busy, len(o.Machines), 1)))
	all := workflow.NewWaitGroup(ctx)
	for _, m := range turn {
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			results[m] = inFleet(ctx, o, m, crowded, busy, func() { results[m] = Result{State: Measuring} })
		})
	}
	all.Wait(ctx)
	if err := ctx.Err(); err != nil {
		// Machines that never began were cancelled, too.
		for m, r := range results {
			if r.State == Waiting {
				results[m] = Result{State: Cancelled}
			}
		}
		return results, err
	}
	if crowded {
		// Those which were off are asked again after the others.
		o.Machines = append(slices.Clone(waiting[len(turn):]), turn...)
		o.Earlier = results
		return nil, workflow.NewContinueAsNewError(ctx, FleetWorkflow, o)
	}
	return results, nil
}

// inFleet takes a machine through the run. While the machine is off, it takes no place among the
// busy ones; if others wait for its turn, it waits for another.
func inFleet(ctx workflow.Context, o Order, machine string, crowded bool, busy workflow.Semaphore,
	begins func()) Result {
	h := host{order: o, machine: machine}
	if crowded {
		h.patience = cmp.Or(o.Patience, 5*time.Minute)
	}
	if err := h.repeat(ctx, quick, nil, "Doctor", nil); err != nil {
		if off(err) {
			return Result{State: Waiting}
		}
		return failed(Result{}, err)
	}
	if err := busy.Acquire(ctx, 1); err != nil {
		return failed(Result{}, err)
	}
	defer busy.Release(1)
	begins()
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            MachineID(o.Fleet, o.Run, machine),
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:   true,
	})
	o.Machines, o.Earlier = []string{machine}, nil
	var r Result
	if err := workflow.ExecuteChildWorkflow(ctx, MachineWorkflow, o).Get(ctx, &r); err != nil {
		return failed(r, err)
	}
	return r
}

// off reports whether an activity ended because no worker took it in time.
func off(err error) bool {
	var late *temporal.TimeoutError
	return errors.As(err, &late) && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// failed is the result of a machine that did not come to its end.
func failed(r Result, err error) Result {
	if temporal.IsCanceledError(err) {
		r.State = Cancelled
		return r
	}
	r.State, r.Error = Failed, words(err)
	return r
}

// MachineWorkflow is the run on one machine, the only one of the order.
func MachineWorkflow(ctx workflow.Context, o Order) (Result, error) {
	h := host{order: o, machine: o.Machines[0]}
	r, err := h.run(ctx)
	if err != nil {
		// The error says whether it was cancelled; what is not an error of Temporal's is a result.
		if temporal.IsCanceledError(err) && h.began {
			r = h.afterCancel(ctx, r)
		}
		return failed(r, err), nil
	}
	return r, nil
}

// DoctorWorkflow asks the only machine of the order what it can measure, and whether it can measure the campaign if
// there is one. It returns what tare doctor --json prints there.
func DoctorWorkflow(ctx workflow.Context, o Order) (report string, err error) {
	h := host{order: o, machine: o.Machines[0], patience: cmp.Or(o.Patience, time.Minute)}
	err = workflow.ExecuteActivity(h.options(ctx, quick, "Report"), "Report", h.task("Report", nil)).Get(ctx, &report)
	return report, err
}

// host executes activities on a machine.
type host struct {
	order   Order
	machine string
	began   bool // there is a run on the machine

	// patience is how long an activity waits for a worker; 0: for ever.
	patience time.Duration
}

func (h *host) run(ctx workflow.Context) (r Result, err error) {
	if err := h.repeat(ctx, quick, nil, "Prepare", &r.Note); err != nil {
		return r, err
	}
	h.began = true
	var reboots fleet.Reboots
	for {
		var out Outcome
		if err := h.repeat(ctx, longest, nil, "Measure", &out); err != nil {
			return r, err
		}
		r.Code, r.Trials = out.Code, out.Trials
		if out.Next.Name == "" {
			break
		}
		if err := reboots.Into(out.Next.Name, out.Next.Entry, out.Trials, "tare fleet resume"); err != nil {
			return r, err
		}
		if err := h.repeat(ctx, quick, &out.Next, "Reboot", nil); err != nil {
			return r, err
		}
	}
	if err := h.repeat(ctx, quick, nil, "Collect", &r.SHA256); err != nil {
		return r, err
	}
	r.State = Done
	return r, nil
}

// afterCancel collects what was measured until a run was cancelled. If the machine does not react,
// this is left to tare fleet resume.
func (h *host) afterCancel(ctx workflow.Context, r Result) Result {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(h.machine), ScheduleToStartTimeout: cmp.Or(h.order.Heartbeat, time.Minute),
		StartToCloseTimeout: quick, HeartbeatTimeout: cmp.Or(h.order.Heartbeat, time.Minute),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	_ = workflow.ExecuteActivity(ctx, "Collect", h.task("Collect", nil)).Get(ctx, &r.SHA256) // there may be no file
	return r
}

// task is what an activity is told. The campaign, which may be long, goes to Prepare alone, since histories have a
// limit in bytes.
func (h *host) task(activity string, next *Boot) Task {
	t := Task{Fleet: h.order.Fleet, Run: h.order.Run, Machine: h.machine, Build: h.order.Build, Args: h.order.Args}
	switch activity {
	case "Prepare":
		t.Campaign, t.Image = h.order.Campaign, h.order.Image
	case "Report":
		t.Campaign = h.order.Campaign
	}
	if next != nil {
		t.Boot = *next
	}
	return t
}

// options are those of an activity.
func (h *host) options(ctx workflow.Context, within time.Duration, activity string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(h.machine), ScheduleToStartTimeout: h.patience, StartToCloseTimeout: within,
		HeartbeatTimeout: cmp.Or(h.order.Heartbeat, time.Minute), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, // see the package's comment
		Summary:     activity + " on " + h.machine,
	})
}

// repeat executes an activity until it succeeds, is cancelled, or it makes no sense to go on.
func (h *host) repeat(ctx workflow.Context, within time.Duration, next *Boot, activity string, result any) error {
	ctx = h.options(ctx, within, activity)
	most, faults, deaths, trials := cmp.Or(h.order.Retries, 5), 0, 0, 0
	for {
		err := workflow.ExecuteActivity(ctx, activity, h.task(activity, next)).Get(ctx, result)
		var app *temporal.ApplicationError
		var late *temporal.TimeoutError
		switch {
		case err == nil || temporal.IsCanceledError(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case off(err):
			return err
		case errors.As(err, &app):
			if app.NonRetryable() {
				return err
			}
			var p Progress
			if app.HasDetails() && app.Details(&p) == nil && p.Trials > trials {
				trials, faults, deaths = p.Trials, 0, 0
			}
			if faults++; faults > most {
				return err
			}
		case errors.As(err, &late):
			var p Progress
			if late.HasLastHeartbeatDetails() && late.LastHeartbeatDetails(&p) == nil && p.Trials > trials {
				trials, faults, deaths = p.Trials, 0, 0
			}
			if deaths++; deaths > mostDeaths {
				return err
			}
		default:
			return err
		}
		pause := cmp.Or(h.order.Pause, 5*time.Second)
		if err := workflow.Sleep(ctx, min(pause<<min(max(faults-1, 0), 6), 100*pause)); err != nil {
			return err
		}
	}
}
