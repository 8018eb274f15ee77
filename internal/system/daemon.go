package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/sandbox"
)

// Daemon is a server that the guests of a system share. tare runs its own in the sandbox and does
// not touch the host's. It starts for the first guest and ends with the last, or with tare. It has
// a control group of its own, which is frozen while all of its guests are.
type Daemon struct {
	// Start returns the command that starts it. dir is a private directory in memory; it is
	// removed when the daemon ends.
	Start func(dir string) (Command, error)
	// Ready returns nil when the daemon answers.
	Ready func(ctx context.Context, dir string) error

	mu    sync.Mutex
	users int
	awake int // of the users
	dir   string
	group *cgroup.Group
	p     *Process
}

const (
	daemonUp   = 2 * time.Minute // libvirt's first start queries the capabilities of every QEMU
	daemonDown = 10 * time.Second
)

// DaemonSuffix ends the name of a daemon's control group. The rest of the name is the ID of the
// site for which the daemon was started.
const DaemonSuffix = ".daemon"

// KeepDaemon is Acquire for drivers that are Served.
func (d *Daemon) KeepDaemon(ctx context.Context, id string) (Keep, error) {
	u, err := d.Acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// Use is one guest's use of a daemon, or that of a Keep.
type Use struct {
	d                 *Daemon
	resting, released bool
}

// Acquire starts the daemon unless it runs, and thaws it. id is the ID of the site that uses it.
// The caller releases the result.
func (d *Daemon) Acquire(ctx context.Context, id string) (*Use, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	switch {
	case d.users == 0:
		if err = d.start(ctx, id); err != nil {
			return nil, errors.Join(err, d.stop())
		}
	case d.awake == 0:
		err = d.group.Thaw()
	}
	if err != nil {
		return nil, err
	}
	d.users++
	d.awake++
	return &Use{d: d}, nil
}

// Dir returns the daemon's directory.
func (u *Use) Dir() string {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	return u.d.dir
}

// Rest declares that the guest does not need the daemon until Wake. The daemon is frozen when no
// guest needs it.
func (u *Use) Rest() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	if u.resting || u.released {
		return nil
	}
	if u.d.awake == 1 {
		if err := u.d.group.Freeze(); err != nil {
			return errors.Join(err, u.d.group.Thaw())
		}
	}
	u.resting = true
	u.d.awake--
	return nil
}

// Wake thaws the daemon if necessary and returns when it runs.
func (u *Use) Wake() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	if !u.resting || u.released {
		return nil
	}
	if u.d.awake == 0 {
		if err := u.d.group.Thaw(); err != nil {
			return err
		}
	}
	u.resting = false
	u.d.awake++
	return nil
}

// Release gives the daemon up. With its last user, whether resting or not, the daemon ends, and
// Release returns when it has ended. Later calls do nothing.
func (u *Use) Release() error {
	d := u.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if u.released {
		return nil
	}
	u.released = true
	if !u.resting {
		d.awake--
	}
	d.users--
	switch {
	case d.users == 0:
		return d.stop()
	case d.awake == 0 && !u.resting:
		return d.group.Freeze()
	}
	return nil
}

// CommandLine is the command that started the daemon, for the record; nil when it does not run.
func (d *Daemon) CommandLine() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return nil
	}
	return d.p.CommandLine()
}

// Root returns a path to the root directory as the daemon sees it, without the directories hidden
// from it; "" when it does not run.
func (d *Daemon) Root() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root", d.p.cmd.Process.Pid)
}

func (d *Daemon) start(ctx context.Context, id string) (err error) {
	if d.dir, err = os.MkdirTemp(sandbox.Dir(), "daemon-"); err != nil {
		return fault.Hostf("%w", err)
	}
	layout, err := cgroup.Detect()
	if err != nil {
		return err
	}
	if d.group, err = layout.NewFreezer(id + DaemonSuffix); err != nil {
		return err
	}
	c, err := d.Start(d.dir)
	if err != nil {
		return err
	}
	c.Dir = d.dir // some daemons write files to their working directory
	if d.p, err = c.start(d.group); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, daemonUp)
	defer cancel()
	for {
		err := d.Ready(ctx, d.dir)
		if err == nil {
			return nil
		}
		select {
		case <-d.p.Exited():
			return fault.Hostf("%s ended at once; its log ends: %s", c.Argv[0], lastLines(d.p.Log(), 5))
		case <-ctx.Done():
			return fault.Hostf("%s does not answer: %w; its log ends: %s", c.Argv[0], err, lastLines(d.p.Log(), 5))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop terminates the daemon and waits, since only an orderly exit also ends what the daemon
// started. It kills what remains, which works on frozen processes, too.
func (d *Daemon) stop() error {
	var errs []error
	if d.p != nil {
		errs = append(errs, d.group.Thaw())
		d.p.cmd.Process.Signal(unix.SIGTERM) // an error means that it has already ended
		select {
		case <-d.p.Exited():
		case <-time.After(daemonDown):
			errs = append(errs, d.p.Kill())
		}
	}
	if d.group != nil {
		errs = append(errs, d.group.Remove())
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	d.p, d.group, d.dir = nil, nil, ""
	return errors.Join(errs...)
}
