package xen

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/xenctl"
)

// Saving is a Driver whose guests xl can save. Guests of other types than PV were not tried.
type Saving struct{ Driver }

// stateFile is the file that xl saves a domain in.
const stateFile = "domain"

// Save unplugs the agent's console, has xl write the domain to a file and destroy it, and gives up everything that
// served it. Linux hangs a second console up when it resumes, and what was in it would be lost.
func (g *guest) Save(ctx context.Context, dir string) error {
	if err := g.console.unplug(ctx); err != nil {
		return err
	}
	if err := xl(ctx, "save", strconv.Itoa(g.domain), filepath.Join(dir, stateFile)); err != nil {
		return err
	}
	stays := fault.Hostf("domain %d (%s) does not disappear after it was saved", g.domain, g.site.ID)
	ctx, cancel := context.WithTimeoutCause(ctx, destroyTimeout, stays)
	defer cancel()
	if err := poll(ctx, nil, nil, gone(g.domain)); err != nil {
		return err
	}
	g.saved = true
	g.close.Do(func() { g.err = g.end() })
	return g.err
}

// Restore has xl make a new domain from the file, with the disks, the network and the agent's console as Create
// connects them.
func (d Saving) Restore(ctx context.Context, s *system.Site, dir string) (system.Guest, error) {
	return d.begin(ctx, s, restoring, filepath.Join(dir, stateFile))
}

// gone returns a function for poll: it reports whether a domain has disappeared.
func gone(domain int) func() (bool, error) {
	return func() (bool, error) {
		_, err := xenctl.DomainByID(domain)
		if errors.Is(err, xenctl.ErrNoDomain) {
			return true, nil
		}
		return false, err
	}
}
