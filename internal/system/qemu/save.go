package qemu

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

const (
	// stateFile is the file that a machine is saved in: the stream of a migration.
	stateFile = "machine"
	// stateFD is the descriptor after the monitor's, of the file that QEMU restores a machine from.
	stateFD = qmpFD + 1
	// pollEvery is how often QEMU is asked for the end of a migration.
	pollEvery = 2 * time.Millisecond
)

// Save writes the stopped machine to a file, as a migration that nobody receives. QEMU gets only the file's
// descriptor, since its jail has no path to it.
func (g *guest) Save(ctx context.Context, dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, stateFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer file.Close()
	if err := g.Freeze(ctx); err != nil {
		return err
	}
	// Without it, QEMU sends 128 MiB in a second at most.
	unlimited := map[string]int64{"max-bandwidth": math.MaxInt64}
	if err := g.qmp.execute(ctx, "migrate-set-parameters", unlimited, nil); err != nil {
		return err
	}
	if err := g.qmp.pass(ctx, "getfd", file, map[string]string{"fdname": stateFile}, nil); err != nil {
		return err
	}
	if err := g.qmp.execute(ctx, "migrate", map[string]string{"uri": "fd:" + stateFile}, nil); err != nil {
		return err
	}
	if err := g.await(ctx, "query-migrate", "completed", "setup", "active", "device", "pre-switchover"); err != nil {
		return err
	}
	g.qmp.conn.Close()
	return g.Kill()
}

// await repeats a query until its status is want. Any other status than those of meanwhile is an error.
func (g *guest) await(ctx context.Context, query, want string, meanwhile ...string) error {
	for {
		var st struct {
			Status    string
			ErrorDesc string `json:"error-desc"`
		}
		if err := g.qmp.execute(ctx, query, nil, &st); err != nil {
			return err
		}
		if st.Status == want {
			return nil
		}
		if st.Status != "" && !slices.Contains(meanwhile, st.Status) { // "": not begun
			return fault.Guestf("QEMU's %s is %q, not %q: %s", query, st.Status, want, st.ErrorDesc)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// Restore starts a QEMU that reads the machine's state instead of booting it.
func (d Driver) Restore(ctx context.Context, s *system.Site, dir string) (system.Guest, error) {
	file, err := os.Open(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	defer file.Close()
	g, err := d.begin(ctx, s, []string{"-incoming", fmt.Sprintf("fd:%d", stateFD)}, file)
	if err != nil {
		return nil, err
	}
	if err = g.await(ctx, "query-status", "paused", "inmigrate"); err == nil {
		err = g.Thaw(ctx)
	}
	if err != nil {
		g.Close() // completes the log
		return nil, fault.Guestf("QEMU does not restore the machine: %s (%w)", strings.TrimSpace(g.Log()), err)
	}
	return g, nil
}
