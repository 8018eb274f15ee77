// Package keeper lets a guest outlive the command that started it: one tare process, the keeper,
// owns the guest and carries out requests that other commands make over a socket. The guest ends
// with its keeper, for whatever reason that ends.
//
// The protocol on the socket is HTTP with JSON; see serve.go.
package keeper

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
)

// The states of a guest.
const (
	Starting = "starting"
	Running  = "running"
	Frozen   = "frozen"
	Copied   = "being copied" // and frozen meanwhile
	Saved    = "saved"        // to files: nothing of it runs, until it is restored
	Ended    = "ended"        // by itself, or killed; its log can still be read
)

// Status is a keeper's description of its guest.
type Status struct {
	Name        string         `json:"name"`
	ID          string         `json:"id"` // part of the names of its traces on the host
	System      string         `json:"system"`
	State       string         `json:"state"`
	Request     system.Request `json:"flavor"`
	CopyOf      string         `json:"copy_of,omitempty"` // the guest whose data it started with
	Started     time.Time      `json:"started"`
	StartNS     int64          `json:"start_ns,omitempty"` // until its agent answered
	Address     string         `json:"address,omitempty"`  // on its network
	Data        string         `json:"data,omitempty"`     // the device of its data volume
	Hello       *agent.Hello   `json:"hello,omitempty"`
	CommandLine []string       `json:"command_line,omitempty"`
	Keeper      int            `json:"keeper"` // the keeper's process ID outside the sandbox
}

// pidVar passes the ID of the process outside the sandbox to the keeper inside.
const pidVar = "TARE_KEEPER"

// Announce records this process's ID for Status. The keeper calls it first outside the sandbox,
// since other processes can wait for that process.
func Announce() {
	if !sandbox.Inside() {
		os.Setenv(pidVar, strconv.Itoa(os.Getpid()))
	}
}

// Keeper owns a guest.
type Keeper struct {
	instance *instance.Instance
	stop     context.CancelFunc

	mu      sync.Mutex
	status  Status
	machine *system.Machine // nil until it has started

	gone chan struct{} // closed when the guest has been removed
	err  error         // of the removal; read only after gone is closed
}

// Keep creates a guest with start, under a unique name, and serves requests until one removes the
// guest or ctx ends. It returns when the guest is gone.
func Keep(ctx context.Context, i *instance.Instance, s Status, start func(context.Context) (*system.Machine,
	error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	k := &Keeper{instance: i, stop: stop, status: s, gone: make(chan struct{})}
	k.status.State, k.status.Started, k.status.ID = Starting, time.Now(), i.ID
	k.status.Keeper, _ = strconv.Atoi(os.Getenv(pidVar))
	l, err := k.listen()
	if err != nil {
		return err
	}
	defer l.Close() // removes the socket; the server does not know l yet if start fails at once
	server := k.serve(ctx, l)
	err = k.keep(ctx, start)
	k.err = err
	close(k.gone)
	// Let the client that asked for the removal get its answer.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return errors.Join(err, server.Shutdown(last))
}

// shutdownTimeout bounds how long clients may take to finish.
const shutdownTimeout = 5 * time.Second

func (k *Keeper) keep(ctx context.Context, start func(context.Context) (*system.Machine, error)) error {
	m, err := start(ctx)
	if err != nil {
		return err
	}
	k.has(m)
	<-ctx.Done()
	k.mu.Lock()
	k.status.State = Ended
	k.mu.Unlock()
	return m.Close()
}

// has records that the guest runs, and waits in the background for its end.
func (k *Keeper) has(m *system.Machine) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.machine = m
	k.status.State, k.status.StartNS = Running, int64(m.StartTime)
	k.status.Hello, k.status.CommandLine = &m.Hello, m.Guest.CommandLine()
	if a := m.Address(); a.IsValid() {
		k.status.Address = a.String()
	}
	if m.Site.Volume != nil {
		k.status.Data = m.Site.Volume.Device
	}
	k.watch(m.Guest)
}

// watch notes in the background when the guest ends, unless it was saved.
func (k *Keeper) watch(g system.Guest) {
	go func() {
		<-g.Exited()
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.machine.Guest == g && k.status.State != Saved {
			k.status.State = Ended
		}
	}()
}

// save saves the guest to files, and ends its processes.
func (k *Keeper) save(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, err := k.expect(Running)
	if err != nil {
		return err
	}
	if err := system.SaveRefusal(m.Driver); err != nil {
		return err
	}
	if _, err := m.Save(ctx); err != nil { // the machine is closed
		k.status.State = Ended
		return err
	}
	k.status.State = Saved
	return nil
}

// restore restores a saved guest, which goes on where it was.
func (k *Keeper) restore(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, err := k.expect(Saved)
	if err != nil {
		return err
	}
	if err := m.Restore(ctx); err != nil {
		k.status.State = Ended
		return err
	}
	k.status.State, k.status.CommandLine = Running, m.Guest.CommandLine()
	k.watch(m.Guest)
	return nil
}

// expect returns the guest if it is in this state, and otherwise an error. The caller holds k.mu.
func (k *Keeper) expect(state string) (*system.Machine, error) {
	if k.status.State == state {
		return k.machine, nil
	}
	err := fault.Campaignf("guest %s is %s", k.status.Name, k.status.State)
	switch {
	case k.status.State == Frozen:
		err = fault.WithRemedy(err, "tare guest thaw %s", k.status.Name)
	case k.status.State == Saved:
		err = fault.WithRemedy(err, "tare guest restore %s", k.status.Name)
	case k.status.State == Ended:
		err = fault.WithRemedy(err, "tare guest console --log %s; tare guest rm %[1]s", k.status.Name)
	}
	return nil, err
}

// running returns the guest if it runs.
func (k *Keeper) running() (*system.Machine, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.expect(Running)
}

// turn changes the guest's state with do, which freezes or thaws it.
func (k *Keeper) turn(ctx context.Context, from, to string, do func(*system.Machine, context.Context) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, err := k.expect(from)
	if err != nil {
		return err
	}
	if m.Driver.Capabilities().Freeze == "" {
		return fault.Campaignf("guests of %s cannot be frozen", k.status.System)
	}
	if err := do(m, ctx); err != nil {
		return err
	}
	k.status.State = to
	return nil
}

func (k *Keeper) freeze(ctx context.Context) error {
	return k.turn(ctx, Running, Frozen, (*system.Machine).Freeze)
}

func (k *Keeper) thaw(ctx context.Context) error {
	return k.turn(ctx, Frozen, Running, (*system.Machine).Thaw)
}

// hold stops all changes to the data volume until release is called: it flushes what programs have
// written and freezes the guest.
func (k *Keeper) hold(ctx context.Context) (release func() error, err error) {
	m, err := k.running()
	if err != nil {
		return nil, err
	}
	if m.Site.Volume == nil {
		return nil, fault.Campaignf("guest %s has no data volume that tare could copy", k.status.Name)
	}
	r, err := m.Agent.Run(ctx, agent.Command{Argv: []string{"sync"}, Env: system.AgentEnv, Timeout: time.Minute})
	if err != nil || r.ExitCode != 0 {
		return nil, errors.Join(fault.Guestf("its data cannot be flushed to the disk"), err)
	}
	if err := k.turn(ctx, Running, Copied, (*system.Machine).Freeze); err != nil {
		return nil, err
	}
	if m.Site.DataDir != "" {
		err = syncFS(m.Site.DataDir)
	}
	release = func() error {
		return k.turn(context.Background(), Copied, Running, (*system.Machine).Thaw)
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

func syncFS(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fault.Hostf("%s: %w", dir, err)
	}
	return nil
}
