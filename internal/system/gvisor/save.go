package gvisor

import (
	"context"
	"os"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
)

// Save has gVisor write the guest to files in dir and end it. The file with the pages is not compressed: then a
// restored guest can run while it is still read.
func (g *guest) Save(ctx context.Context, dir string) error {
	if err := g.control(ctx, "checkpoint", "--image-path", dir, "--compression", "none"); err != nil {
		return err
	}
	g.kernel = 0
	if err := g.WaitEnd(ctx); err != nil {
		return err
	}
	// runsc forgets a container that it ran, but not one that it restored, and would not restore it again.
	if err := os.RemoveAll(stateDir(g.site)); err != nil {
		return fault.Hostf("runsc's state of the saved guest: %w", err)
	}
	return nil
}

// Restore starts a sandbox that reads the guest's state instead of starting its agent. Its network stack is not
// part of the state: the sandbox takes it from the interface again.
func (d Driver) Restore(_ context.Context, s *system.Site, dir string) (system.Guest, error) {
	if s.Port != nil {
		if err := s.Port.Reset(); err != nil {
			return nil, err
		}
	}
	return d.begin(s, "restore", "--bundle", oci.BundleDir(s), "--image-path", dir, id)
}
