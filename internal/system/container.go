package system

import (
	"cmp"
	"context"
	"sync"

	"github.com/tare-bench/tare/internal/model"
)

// GroupGuest is a guest whose processes all run on the host's kernel in the site's control group:
// a container of any kind. Its first process is one that Site.Start started. Freezing the group
// freezes the guest, and killing the group ends it.
type GroupGuest struct {
	*Process
	site  *Site
	after func() error
	once  sync.Once
	err   error
}

// GroupCapabilities returns the capabilities of systems whose guests are GroupGuests: the host
// mounts the data volume, and the network is a namespace. capCovers names what a CPU cap covers, and
// confinement what the system does by default to confine a guest.
func GroupCapabilities(capCovers, confinement string) Capabilities {
	return Capabilities{
		VerifiedOn:    Live,
		SameKernel:    true,
		HostMount:     true,
		Freeze:        "cgroup freezer",
		NoSave:        needsCRIU,
		CPUCap:        capCovers,
		IOCap:         GroupIOCap,
		NetCap:        BucketCap,
		Memory:        "control group: processes and page cache",
		MemoryInGroup: true,
		Swap:          GroupSwap,
		DiskBackings:  []string{model.BackingLoop, model.BackingBlock},
		Disk:          "mounted by the host",
		Networks:      []string{model.NetworkNone, model.NetworkBridged, model.NetworkNAT},
		NeedsRoot:     true,
		HostBoot:      "linux",
		Confinement:   confinement,
		Open:          true,
	}
}

// NewGroupGuest returns the guest whose first process is p. Close calls after, unless it is nil,
// when all processes in the group have ended; it removes what the driver created outside the group.
func NewGroupGuest(s *Site, p *Process, after func() error) *GroupGuest {
	return &GroupGuest{Process: p, site: s, after: after}
}

func (g *GroupGuest) Freeze(context.Context) error { return g.site.Group.Freeze() }
func (g *GroupGuest) Thaw(context.Context) error   { return g.site.Group.Thaw() }

func (g *GroupGuest) Close() error {
	g.once.Do(func() {
		g.err = cmp.Or(g.Kill(), g.site.Group.Remove())
		if g.after != nil {
			g.err = cmp.Or(g.err, g.after())
		}
	})
	return g.err
}
