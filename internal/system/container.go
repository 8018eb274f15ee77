package system

import (
	"context"
	"sync"

	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/volume"
)

// GroupGuest is a guest that is all processes of the host's kernel in the
// site's control group, under one that StartProcess started: containers of any
// kind. The group's freezer freezes it and killing the group ends it.
type GroupGuest struct {
	*Process
	site  *Site
	after func() error
	once  sync.Once
	err   error
}

// GroupCapabilities are those of systems whose guests are GroupGuests with the
// data volume mounted by the host, and on a network in a namespace; capCovers
// names what a CPU cap covers.
func GroupCapabilities(capCovers string) Capabilities {
	return Capabilities{
		VerifiedOn:    Live,
		SameKernel:    true,
		HostMount:     true,
		Freeze:        "cgroup freezer",
		CPUCap:        capCovers,
		Memory:        "control group: processes and page cache",
		MemoryInGroup: true,
		DiskBackings:  []string{volume.Loop, volume.Block},
		Disk:          "mounted by the host",
		Networks:      []string{network.None, network.Bridged, network.NAT},
		NeedsRoot:     true,
		HostBoot:      "linux",
	}
}

// NewGroupGuest returns the guest that p is; after, if not nil, removes what
// the driver made beside the group, when everything in the group has ended.
func NewGroupGuest(s *Site, p *Process, after func() error) *GroupGuest {
	return &GroupGuest{Process: p, site: s, after: after}
}

func (g *GroupGuest) Freeze(context.Context) error { return g.site.Group.Freeze() }
func (g *GroupGuest) Thaw(context.Context) error   { return g.site.Group.Thaw() }

func (g *GroupGuest) Close() error {
	g.once.Do(func() {
		steps := []func() error{g.Kill, g.site.Group.Remove, g.after}
		for _, step := range steps {
			if step == nil {
				continue
			}
			if err := step(); err != nil && g.err == nil {
				g.err = err
			}
		}
	})
	return g.err
}
