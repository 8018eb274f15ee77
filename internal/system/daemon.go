package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/sandbox"
)

// Daemon is a server that the guests of a system share. It is tare's own, in the
// sandbox: it is started for the first guest and ends with the last, or with
// tare, and leaves the host's alone. It is in no guest's control group.
type Daemon struct {
	// Start says how to start it. dir is private to it, in memory, and goes with it.
	Start func(dir string) (Command, error)
	// Ready returns nil when it answers.
	Ready func(ctx context.Context, dir string) error

	mu    sync.Mutex
	users int
	dir   string
	p     *Process
}

const (
	daemonUp   = 2 * time.Minute // libvirt's first start asks every QEMU what it can
	daemonDown = 10 * time.Second
)

// Acquire starts the daemon unless it runs, and returns its directory. Every
// Acquire without an error wants a Release.
func (d *Daemon) Acquire(ctx context.Context) (dir string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == 0 {
		if err := d.start(ctx); err != nil {
			return "", errors.Join(err, d.stop())
		}
	}
	d.users++
	return d.dir, nil
}

// Release ends the daemon with its last user, and returns when it has ended.
func (d *Daemon) Release() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	return d.stop()
}

// CommandLine is how the daemon was started, for the record; nil when it does not run.
func (d *Daemon) CommandLine() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return nil
	}
	return d.p.CommandLine()
}

// Root is the daemon's root directory as it sees it, with what is hidden from it
// hidden; "" when it does not run.
func (d *Daemon) Root() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root", d.p.cmd.Process.Pid)
}

func (d *Daemon) start(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp(sandbox.Dir(), "daemon-"); err != nil {
		return fault.Hostf("%w", err)
	}
	c, err := d.Start(d.dir)
	if err != nil {
		return err
	}
	c.Dir = d.dir // some leave files where they are
	if d.p, err = c.start(nil); err != nil {
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

// stop asks the daemon to end, since what it has started ends with it only then.
func (d *Daemon) stop() error {
	var err error
	if p := d.p; p != nil {
		p.cmd.Process.Signal(unix.SIGTERM) // an error means that it has ended already
		select {
		case <-p.Exited():
		case <-time.After(daemonDown):
			err = p.Kill()
		}
	}
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	d.p, d.dir = nil, ""
	return err
}
