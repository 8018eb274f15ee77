package libvirt

import (
	"context"
	"path/filepath"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

const (
	// stateFile is the file that libvirt saves a machine in: its description, and the stream of a migration.
	stateFile = "machine"
	// endTimeout is how long QEMU may take to end after libvirt has saved its machine.
	endTimeout = 30 * time.Second
	// joinEvery is how often tare looks for the QEMU of a machine that is being restored.
	joinEvery = time.Millisecond
)

// Machines is a Driver whose guests are machines, which libvirt can save.
type Machines struct{ Driver }

// Save has libvirt write the machine to a file and end its QEMU. It gives everything up but the log, so that a
// restored machine can have the same.
func (g *guest) Save(ctx context.Context, dir string) error {
	err := within(ctx, func() error {
		return g.libvirt.DomainSaveFlags(g.domain, filepath.Join(dir, stateFile), nil, 0)
	})
	if err != nil {
		return err
	}
	select {
	case <-g.exited:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(endTimeout):
		return fault.Guestf("QEMU does not end after libvirt has saved its machine")
	}
	g.log = g.Log()
	if err := bounded(g.libvirt.Disconnect); err != nil {
		return err
	}
	g.libvirt = nil
	if err := g.disown(); err != nil {
		return err
	}
	return g.use.Release()
}

// Restore has libvirt start a QEMU that reads the machine's state instead of booting it.
func (m Machines) Restore(ctx context.Context, s *system.Site, dir string) (system.Guest, error) {
	return m.begin(ctx, s, filepath.Join(dir, stateFile))
}

// restore restores the machine that was saved in a file, and leaves it paused. libvirt cannot be asked to start a
// QEMU that does not read the state yet. For that to cost the machine's group and not the daemon's, QEMU joins
// the group as soon as it is there; libvirt, which first asks QEMU what it can do, takes much longer.
func (g *guest) restore(ctx context.Context, file string) error {
	done := make(chan error, 1)
	go func() {
		done <- within(ctx, func() error {
			return g.libvirt.DomainRestoreFlags(file, nil, uint32(libvirt.DomainSavePaused))
		})
	}()
	for joined := false; ; {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			return bounded(func() (err error) {
				g.domain, err = g.libvirt.DomainLookupByName(domainName(g.site))
				return err
			})
		case <-time.After(joinEvery):
			if joined {
				continue
			}
			if pids, err := g.processes(); err == nil {
				joined = g.site.Group.Add(pids[0]) == nil // otherwise start finds out why
			}
		}
	}
}
