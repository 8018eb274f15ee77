package durable

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"github.com/tare-bench/tare/internal/fault"
)

// Client starts runs of fleets and asks for them. Close it.
type Client struct {
	temporal client.Client
	waits    func() // is called once, before the client waits for a coordinator
	patience time.Duration
}

// Reconnection is how long a connected coordinator may seem to be away. It asks for work, and waits a minute for it; a
// server of Temporal's that became responsible for its queue meanwhile knows of it only when it asks again.
const Reconnection = 70 * time.Second

// Dial connects to Temporal. The client calls waits once if no coordinator is connected, and waits for one, for
// Reconnection at most.
func Dial(ctx context.Context, c Connection, waits func()) (*Client, error) {
	t, err := dial(ctx, c, "tare fleet")
	if err != nil {
		return nil, err
	}
	return &Client{t, sync.OnceFunc(waits), Reconnection}, nil
}

// Close ends the connection. Runs go on.
func (c *Client) Close() { c.temporal.Close() }

// Status is how far a run of a fleet is.
type Status struct {
	Running  bool
	Machines map[string]Result
	Progress map[string]Progress // of machines that measure
}

// Start starts a run of a fleet. If it is in progress, that one is meant. If it is over, nothing is
// started and it is an error.
func (c *Client) Start(ctx context.Context, o Order) error {
	return c.start(ctx, o, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

// Resume goes on with the machines of a run that are not done, as Status said. If the run is in progress, it goes on as
// it is.
func (c *Client) Resume(ctx context.Context, o Order, s *Status) error {
	if s.Running {
		return nil
	}
	o.Earlier = maps.Clone(s.Machines)
	maps.DeleteFunc(o.Earlier, func(_ string, r Result) bool { return r.State != Done })
	return c.start(ctx, o, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
}

func (c *Client) start(ctx context.Context, o Order, reuse enums.WorkflowIdReusePolicy) error {
	if err := c.coordinated(ctx, FleetQueue(o.Build)); err != nil {
		return err
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: ID(o.Fleet, o.Run), TaskQueue: FleetQueue(o.Build), WorkflowIDReusePolicy: reuse,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "run " + o.Run + " of fleet " + o.Fleet,
	}, FleetWorkflow, o)
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &there) {
		return fault.WithRemedy(fault.Campaignf("the fleet's run %s is over", o.Run),
			"tare fleet resume for machines that are not done; another run needs another name: --run NAME")
	}
	return wrap(err)
}

// coordinated refuses to start what nobody would execute.
func (c *Client) coordinated(ctx context.Context, queue string) error {
	for began := time.Now(); ; {
		d, err := c.temporal.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		if err != nil || len(d.GetPollers()) > 0 {
			return wrap(err)
		}
		if time.Since(began) >= c.patience {
			return noCoordinator(queue)
		}
		c.waits()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func noCoordinator(queue string) error {
	return fault.WithRemedy(fault.Hostf("no coordinator with this build of tare is connected to Temporal"),
		"start tare fleet serve with the same program (its queue is %s)", queue)
}

// Status returns how far a run is. It needs a coordinator of the build that began the run.
func (c *Client) Status(ctx context.Context, fleet, run string) (*Status, error) {
	d, err := c.temporal.DescribeWorkflowExecution(ctx, ID(fleet, run), "")
	if err != nil {
		return nil, wrap(err)
	}
	info := d.GetWorkflowExecutionInfo()
	s := &Status{Running: info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, Progress: map[string]Progress{}}
	if err := c.coordinated(ctx, info.GetTaskQueue()); err != nil {
		return nil, err
	}
	v, err := c.temporal.QueryWorkflow(ctx, ID(fleet, run), "", machinesQuery)
	// Temporal counts a coordinator as connected for minutes after its end.
	if dead := new(serviceerror.FailedPrecondition); errors.As(err, &dead) {
		return nil, noCoordinator(info.GetTaskQueue())
	}
	if err != nil {
		return nil, wrap(err)
	}
	if err := v.Get(&s.Machines); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	var lock sync.Mutex // of s.Progress
	var asked errgroup.Group
	asked.SetLimit(32) // hundreds one after the other take a while, and all at once are too much for a small server
	for m, r := range s.Machines {
		if r.State != Measuring {
			continue
		}
		asked.Go(func() error {
			p, err := c.progress(ctx, MachineID(fleet, run, m))
			lock.Lock()
			defer lock.Unlock()
			s.Progress[m] = p
			return err
		})
	}
	if err := asked.Wait(); err != nil {
		return nil, err
	}
	return s, nil
}

// progress is what the activity on a machine said last.
func (c *Client) progress(ctx context.Context, id string) (p Progress, err error) {
	d, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return p, nil // it is about to begin
	}
	if err != nil {
		return p, wrap(err)
	}
	p.Log = "about to go on" // soon, or after a pause
	for _, a := range d.GetPendingActivities() {
		p.Log = strings.ToLower(a.GetActivityType().GetName())
		if a.GetHeartbeatDetails() != nil {
			var now Progress
			if err := converter.GetDefaultDataConverter().FromPayloads(a.GetHeartbeatDetails(), &now); err == nil &&
				now.Log != "" {
				p = now
			}
		}
	}
	return p, nil
}

// Cancel ends the run on all machines, as Ctrl-C does. It returns at once.
func (c *Client) Cancel(ctx context.Context, fleet, run string) error {
	return wrap(c.temporal.CancelWorkflow(ctx, ID(fleet, run), ""))
}

// Doctor asks the worker of the order's only machine for what tare doctor --json prints there.
func (c *Client) Doctor(ctx context.Context, o Order) (report string, err error) {
	if err := c.coordinated(ctx, FleetQueue(o.Build)); err != nil {
		return "", err
	}
	asked, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: doctorID(o.Fleet, o.Machines[0]), TaskQueue: FleetQueue(o.Build),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, DoctorWorkflow, o)
	if err != nil {
		return "", wrap(err)
	}
	err = asked.Get(ctx, &report)
	switch {
	case err == nil:
		return report, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case off(err):
		return "", fault.WithRemedy(fault.Hostf("its worker did not answer within %s", o.Patience),
			"make sure that tare fleet worker runs there; it does not answer while it measures")
	}
	return "", fault.Hostf("%s", words(err))
}

// ErrNoRun is in the chain of an error if Temporal does not have the run that was meant.
var ErrNoRun = errors.New("no such run of the fleet")

// Runs returns the names of the fleet's runs, as far as Temporal knows and tells them.
func (c *Client) Runs(ctx context.Context, fleet string) (names []string) {
	list, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: "WorkflowType = 'FleetWorkflow'"})
	if err != nil {
		return nil
	}
	for _, e := range list.GetExecutions() {
		if name, ok := strings.CutPrefix(e.GetExecution().GetWorkflowId(), ID(fleet, "")); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// wrap words what Temporal answers.
func wrap(err error) error {
	var gone *serviceerror.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &gone):
		return fault.WithRemedy(fault.Campaignf("Temporal has %w", ErrNoRun),
			"tare fleet run starts one; finished ones are forgotten after the namespace's retention")
	}
	return fault.Hostf("Temporal: %w", err)
}
