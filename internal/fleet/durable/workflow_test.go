package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tare-bench/tare/internal/fault"
)

// scripted stands in for the workers of all machines.
type scripted struct {
	doctor, prepare, reboot func(ctx context.Context, t Task, attempt int) error
	measure                 func(ctx context.Context, t Task, attempt int) (Outcome, error)
	mu                      sync.Mutex
	calls                   map[string]int // by activity and machine
}

func (s *scripted) count(what string, t Task) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[what+" "+t.Machine]++
	return s.calls[what+" "+t.Machine]
}

// called returns how often an activity was executed on a machine; "Measure node1", say. An activity which was cancelled
// may still be running.
func (s *scripted) called(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[what]
}

// fleetOf executes a fleet's workflow, whose time does not pass in reality, on machines that do what s
// says.
func fleetOf(t *testing.T, s *scripted, machines int, change func(*testsuite.TestWorkflowEnvironment, *Order)) (
	map[string]Result, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(10 * time.Minute)
	// A busy host may take longer than the second that is the default.
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.RegisterWorkflow(FleetWorkflow)
	env.RegisterWorkflow(MachineWorkflow)
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	register := func(name string, f any) {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	register("Doctor", func(ctx context.Context, task Task) error {
		if n := s.count("Doctor", task); s.doctor != nil {
			return s.doctor(ctx, task, n)
		}
		return nil
	})
	register("Prepare", func(ctx context.Context, task Task) (string, error) {
		if n := s.count("Prepare", task); s.prepare != nil {
			return "", s.prepare(ctx, task, n)
		}
		return task.Image, nil
	})
	register("Measure", func(ctx context.Context, task Task) (Outcome, error) {
		if n := s.count("Measure", task); s.measure != nil {
			return s.measure(ctx, task, n)
		}
		return Outcome{Trials: 12}, nil
	})
	register("Reboot", func(ctx context.Context, task Task) error {
		if n := s.count("Reboot", task); s.reboot != nil {
			return s.reboot(ctx, task, n)
		}
		return nil
	})
	register("Collect", func(_ context.Context, task Task) (string, error) {
		s.count("Collect", task)
		return "hash", nil
	})
	o := Order{Fleet: "racks", Run: "one", Build: "b"}
	for i := range machines {
		o.Machines = append(o.Machines, fmt.Sprint("node", i+1))
	}
	if change != nil {
		change(env, &o)
	}
	env.ExecuteWorkflow(FleetWorkflow, o)
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow did not end")
	}
	v, err := env.QueryWorkflow(machinesQuery)
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]Result
	if err := v.Get(&results); err != nil {
		t.Fatal(err)
	}
	return results, env.GetWorkflowError()
}

func TestFleet(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	results, err := fleetOf(t, s, 3, func(_ *testsuite.TestWorkflowEnvironment, o *Order) { o.Image = "id" })
	if err != nil || len(results) != 3 {
		t.Fatalf("%v, %v", results, err)
	}
	for m, r := range results {
		if r.State != Done || r.Trials != 12 || r.SHA256 != "hash" || r.Note != "id" {
			t.Errorf("%s: %+v", m, r)
		}
		for _, what := range []string{"Doctor", "Prepare", "Measure", "Collect"} {
			if n := s.called(what + " " + m); n != 1 {
				t.Errorf("%s on %s: %d times", what, m, n)
			}
		}
	}
}

// TestHostsFault: a fault of the host is tried again; one that persists fails that machine alone, and
// a new trial gives a host new chances.
func TestHostsFault(t *testing.T) {
	t.Parallel()
	broken := func(trials int) error {
		return temporal.NewApplicationErrorWithOptions("no loop device", hostError,
			temporal.ApplicationErrorOptions{Details: []any{Progress{Trials: trials}}})
	}
	s := &scripted{measure: func(_ context.Context, task Task, attempt int) (Outcome, error) {
		switch {
		case task.Machine == "node1" && attempt <= 5:
			return Outcome{}, broken(0)
		case task.Machine == "node2":
			return Outcome{}, broken(0)
		case task.Machine == "node3" && attempt <= 20:
			return Outcome{}, broken(attempt / 4)
		}
		return Outcome{Trials: 12}, nil
	}}
	results, err := fleetOf(t, s, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[string]State{"node1": Done, "node2": Failed, "node3": Done, "node4": Done} {
		if results[m].State != want {
			t.Errorf("%s: %+v, want %s", m, results[m], want)
		}
	}
	if n := s.called("Measure node2"); n != 6 || !strings.Contains(results["node2"].Error, "no loop device") {
		t.Errorf("node2 was tried %d times: %+v", n, results["node2"])
	}
	if n := s.called("Collect node2"); n != 0 {
		t.Error("a run that failed is collected as if it were complete")
	}
}

// TestDeadWorkers: a worker that is killed again and again is waited for, as long as trials are added.
func TestDeadWorkers(t *testing.T) {
	t.Parallel()
	s := &scripted{measure: func(_ context.Context, _ Task, attempt int) (Outcome, error) {
		if attempt <= 2*mostDeaths {
			return Outcome{}, temporal.NewHeartbeatTimeoutError(Progress{Trials: attempt})
		}
		return Outcome{Trials: attempt}, nil
	}}
	results, err := fleetOf(t, s, 1, nil)
	if err != nil || results["node1"].State != Done || s.called("Measure node1") != 2*mostDeaths+1 {
		t.Errorf("%+v, %v after %d attempts", results, err, s.called("Measure node1"))
	}
}

// TestCampaignsFault: what repetition cannot mend is not repeated.
func TestCampaignsFault(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{campaignError, buildError} {
		s := &scripted{prepare: func(_ context.Context, task Task, _ int) error {
			if task.Machine == "node1" {
				return temporal.NewNonRetryableApplicationError("unknown workload", kind, nil)
			}
			return nil
		}}
		results, err := fleetOf(t, s, 2, nil)
		if err != nil || results["node1"].State != Failed || results["node2"].State != Done ||
			results["node1"].Error != "unknown workload" {
			t.Errorf("%s: %+v, %v", kind, results, err)
		}
		if s.called("Prepare node1") != 1 || s.called("Measure node1") != 0 {
			t.Errorf("%s: %v", kind, s.calls)
		}
	}
}

// TestReboots: a run that needs other boots gets them, and goes on after each.
func TestReboots(t *testing.T) {
	t.Parallel()
	var into []Boot
	s := &scripted{
		measure: func(_ context.Context, _ Task, attempt int) (Outcome, error) {
			if attempt <= 2 {
				// Nothing was measured in the first boot; in the second, a round in another boot of its kind begins.
				return Outcome{Code: fault.ExitOtherBoot, Trials: 10 * (attempt - 1),
					Next: Boot{Name: "xen", From: fmt.Sprint(attempt)}}, nil
			}
			return Outcome{Trials: 30}, nil
		},
		reboot: func(_ context.Context, task Task, _ int) error {
			into = append(into, task.Boot)
			return nil
		},
	}
	results, err := fleetOf(t, s, 1, nil)
	if err != nil || results["node1"] != (Result{State: Done, Trials: 30, SHA256: "hash"}) {
		t.Errorf("%+v, %v", results, err)
	}
	if len(into) != 2 || into[0] != (Boot{Name: "xen", From: "1"}) || into[1].From != "2" {
		t.Errorf("%+v", into)
	}
}

// TestWrongBoot: a host that comes back in another boot than the run asked for is not rebooted again; the run ends with
// the host's fault, which names the entry of the menu, and other machines are measured.
func TestWrongBoot(t *testing.T) {
	t.Parallel()
	const right = 3 // boots in which trials are made, before the one that fails
	s := &scripted{measure: func(_ context.Context, task Task, attempt int) (Outcome, error) {
		switch {
		case task.Machine == "node2":
			return Outcome{Trials: 12}, nil
		case attempt > 20:
			return Outcome{}, temporal.NewNonRetryableApplicationError("it is rebooted for ever", campaignError, nil)
		}
		return Outcome{Code: fault.ExitOtherBoot, Trials: 4 * min(attempt, right),
			Next: Boot{Name: "xen", Entry: "Xen 4.17", From: fmt.Sprint(attempt)}}, nil
	}}
	results, err := fleetOf(t, s, 2, nil)
	if err != nil || results["node2"].State != Done {
		t.Errorf("%+v, %v", results, err)
	}
	r := results["node1"]
	if r.State != Failed || r.Trials != 4*right || s.called("Reboot node1") != right {
		t.Errorf("%+v after %d reboots", r, s.called("Reboot node1"))
	}
	for _, want := range []string{"it was rebooted as xen", `"Xen 4.17"`, "another boot", "tare fleet resume"} {
		if !strings.Contains(r.Error, want) {
			t.Errorf("%q is not in %q", want, r.Error)
		}
	}
}

// TestBusy: never more machines are busy at once than the order says, and one that is off takes no
// place.
func TestBusy(t *testing.T) {
	t.Parallel()
	begun, most := 0, 0
	s := &scripted{}
	results, err := fleetOf(t, s, 20, func(env *testsuite.TestWorkflowEnvironment, o *Order) {
		o.Busy = 3
		env.SetOnChildWorkflowStartedListener(func(*workflow.Info, workflow.Context, converter.EncodedValues) {
			begun++
			most = max(most, begun)
		})
		env.SetOnChildWorkflowCompletedListener(func(*workflow.Info, converter.EncodedValue, error) { begun-- })
	})
	if err != nil || most != 3 || begun != 0 {
		t.Errorf("%d machines were busy at once, %d in the end: %v", most, begun, err)
	}
	for m, r := range results {
		if r.State != Done {
			t.Errorf("%s: %+v", m, r)
		}
	}
}

// TestCancelled: cancellation ends a run on all machines; what was measured is collected,
// and machines that never began say so.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := &scripted{measure: func(ctx context.Context, _ Task, _ int) (Outcome, error) {
		for ctx.Err() == nil { // cancellation comes with the answer to a heartbeat
			activity.RecordHeartbeat(ctx)
			time.Sleep(10 * time.Millisecond)
		}
		return Outcome{}, temporal.NewCanceledError()
	}}
	results, err := fleetOf(t, s, 2, func(env *testsuite.TestWorkflowEnvironment, o *Order) {
		o.Busy = 1
		env.SetOnActivityStartedListener(func(a *activity.Info, _ context.Context, _ converter.EncodedValues) {
			if a.ActivityType.Name == "Measure" {
				env.CancelWorkflow()
			}
		})
	})
	if !temporal.IsCanceledError(err) {
		t.Errorf("%v", err)
	}
	collected := 0
	for m, r := range results {
		if r.State != Cancelled {
			t.Errorf("%s: %+v", m, r)
		}
		collected += s.called("Collect " + m)
	}
	if collected != 1 {
		t.Errorf("%d runs were collected, want the one that had begun", collected)
	}
}

// TestResumed: machines that are done are not asked again.
func TestResumed(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	results, err := fleetOf(t, s, 2, func(_ *testsuite.TestWorkflowEnvironment, o *Order) {
		o.Earlier = map[string]Result{"node1": {State: Done, Trials: 5}}
	})
	if err != nil || results["node1"].Trials != 5 || results["node2"].State != Done || s.called("Doctor node1") != 0 {
		t.Errorf("%+v, %v, %v", results, s.calls, err)
	}
}

// TestManyMachines: the workflow of a large fleet continues as a new one before its history is full.
func TestManyMachines(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	results, err := fleetOf(t, s, 8, func(_ *testsuite.TestWorkflowEnvironment, o *Order) { o.Turn = 3 })
	if err == nil || !strings.Contains(err.Error(), "continue as new") {
		t.Fatal(err)
	}
	waiting := 0
	for _, r := range results {
		if r.State == Waiting {
			waiting++
		}
	}
	if waiting != 5 || s.called("Collect node3") != 1 || s.called("Doctor node4") != 0 {
		t.Errorf("%d machines are left for the next workflow", waiting)
	}
}

// TestOff: machines which are off keep nobody waiting, and are measured when they come back.
func TestOff(t *testing.T) {
	t.Parallel()
	const absent = 4 // are off when they are asked first
	var measured []string
	s := &scripted{
		doctor: func(_ context.Context, task Task, attempt int) error {
			if slices.Contains([]string{"node1", "node2", "node3", "node6"}, task.Machine) && attempt == 1 {
				return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
			}
			return nil
		},
		measure: func(_ context.Context, task Task, _ int) (Outcome, error) {
			measured = append(measured, task.Machine)
			return Outcome{Trials: 12}, nil
		},
	}
	next := Order{}
	turns := 0
	for {
		results, err := fleetOf(t, s, 8, func(_ *testsuite.TestWorkflowEnvironment, o *Order) {
			if turns++; turns > 1 {
				*o = next
			}
			o.Turn, o.Busy = 4, 1
		})
		var goesOn *workflow.ContinueAsNewError
		if !errors.As(err, &goesOn) {
			must(t, err)
			for m, r := range results {
				if r.State != Done {
					t.Errorf("%s: %+v", m, r)
				}
			}
			break
		}
		next = Order{}
		must(t, converter.GetDefaultDataConverter().FromPayloads(goesOn.Input, &next))
	}
	if len(measured) != 8 || turns != 3 {
		t.Errorf("%v in %d turns", measured, turns)
	}
	for _, m := range measured[:8-absent] {
		if s.called("Doctor "+m) != 1 {
			t.Errorf("%s, which was off, was measured before others: %v", m, measured)
		}
	}
}
