package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// Probe starts a guest without disks and returns the time until its agent answered. Check uses it
// where only a trial start can tell. Probe leaves nothing behind.
func Probe(ctx context.Context, d Driver, h *Host, limit time.Duration) (took time.Duration, err error) {
	s := &Site{ID: h.RunID + "-probe-" + d.Name(), User: newUser(), Userland: h.Userland}
	s.Flavor = model.Flavor{VCPUs: 1, MemoryBytes: 256 << 20}
	s.Dir = filepath.Join(h.Dir, s.ID)
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return 0, fault.Hostf("%w", err)
	}
	defer os.RemoveAll(s.Dir)
	if d.Capabilities().HostMount {
		s.DataDir = filepath.Join(s.Dir, "data")
		if err := os.Mkdir(s.DataDir, 0o755); err != nil {
			return 0, fault.Hostf("%w", err)
		}
	}
	if s.Group, err = h.Cgroups.New(s.ID, cgroup.Limits{}); err != nil {
		return 0, err
	}
	defer s.Group.Remove()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	g, err := d.Create(ctx, s)
	if err != nil {
		return 0, err
	}
	defer g.Close()
	c, _, err := agent.Connect(ctx, g.Conn())
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("its agent did not answer within %v", limit)
		}
		return 0, err
	}
	c.Close()
	return time.Since(begin), nil
}
