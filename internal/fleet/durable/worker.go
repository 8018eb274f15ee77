package durable

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet/collect"
)

// stopTime is how long a worker that is stopped waits for its activity, which ends its trial first.
const stopTime = 10 * time.Minute

// beatTime is the shortest time between two heartbeats: how old tare fleet status is, and when cancellation arrives.
const beatTime = 10 * time.Second

// Work executes the activities of a machine, one at a time, until ctx ends, and waits for the one in
// progress, which another worker of the machine continues. build is the hash of this program.
func Work(ctx context.Context, c Connection, name, build string, m Machine) error {
	collector, err := Collector(c)
	if err != nil {
		return err
	}
	return poll(ctx, c, name+" (tare "+short(build)+")", HostQueue(name), worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 1, MaxConcurrentActivityTaskPollers: 1,
		WorkerStopTimeout: stopTime, DisableEagerActivities: true, MaxHeartbeatThrottleInterval: beatTime,
	}, func(w worker.Worker) {
		w.RegisterActivity(&activities{name, build, m, collector})
	})
}

// Coordinate executes the workflows of fleets that were started by this build, until ctx ends. It may
// be killed at any time, and more than one may run.
func Coordinate(ctx context.Context, c Connection, build string) error {
	return poll(ctx, c, "coordinator (tare "+short(build)+")", FleetQueue(build), worker.Options{
		LocalActivityWorkerOnly: true, WorkerStopTimeout: 10 * time.Second,
	}, func(w worker.Worker) {
		w.RegisterWorkflow(FleetWorkflow)
		w.RegisterWorkflow(MachineWorkflow)
		w.RegisterWorkflow(DoctorWorkflow)
	})
}

// poll polls a task queue until ctx ends or the worker cannot go on. It waits for Temporal to come up.
func poll(ctx context.Context, c Connection, identity, queue string, o worker.Options,
	register func(worker.Worker)) error {
	t, err := waitFor(ctx, c, identity)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // it was not needed any more
	case err != nil:
		return err
	}
	defer t.Close()
	failed := make(chan error, 1)
	o.OnFatalError = func(err error) {
		select {
		case failed <- err:
		default:
		}
	}
	w := worker.New(t, queue, o)
	register(w)
	if err := w.Start(); err != nil {
		return fault.Hostf("Temporal at %s: %w", c.Address, err)
	}
	defer w.Stop()
	select {
	case err := <-failed:
		return fault.Hostf("Temporal at %s: %w", c.Address, err)
	case <-ctx.Done():
		return nil
	}
}

// waitFor connects to Temporal, which may come up later than this machine.
func waitFor(ctx context.Context, c Connection, identity string) (client.Client, error) {
	for {
		t, err := dial(ctx, c, identity)
		if err == nil || fault.KindOf(err) == fault.Campaign || ctx.Err() != nil || refused(err) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(5 * time.Second):
		}
	}
}

// refused reports whether Temporal answered that it will not have this client.
func refused(err error) bool {
	var denied *serviceerror.PermissionDenied
	var unknown *serviceerror.NamespaceNotFound
	return errors.As(err, &denied) || errors.As(err, &unknown)
}

// Collector returns a client for the collector of run files.
func Collector(c Connection) (*collect.Client, error) {
	token, err := secret(c.Token)
	if err != nil {
		return nil, err
	}
	config, err := tlsConfig(c.TLS)
	if err != nil {
		return nil, err
	}
	return collect.NewClient(c.Collector, token, config)
}
