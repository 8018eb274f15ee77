// Package engine runs guests as containers of Docker and Podman. Both speak the same protocol,
// Docker's Engine API, so that arms differ only in the engine.
//
// tare starts the engine itself, in the sandbox, from the host's programs and with the engine's
// defaults. It does not touch the host's daemon, and if tare is killed, no container is left in
// it. The engine does not hold the userland: the container's root is an image of empty
// directories, over which the userland's tree is mounted read-only, as in every other arm.
package engine

import (
	"context"
	"sync"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is the system "docker" or "podman".
type Driver struct {
	name      string
	programs  []string // that it needs; the first is the engine
	capCovers string   // what a CPU cap covers
	daemon    *system.Daemon

	mu   sync.Mutex
	from source // what the daemon has imported as base
	base image
}

func (d *Driver) Name() string { return d.name }

// KeepDaemon is that of system.Served.
func (d *Driver) KeepDaemon(ctx context.Context, id string) (system.Keep, error) {
	return d.daemon.KeepDaemon(ctx, id)
}

func (d *Driver) Capabilities() system.Capabilities {
	caps := system.GroupCapabilities(d.capCovers,
		"the engine's defaults: seccomp, capabilities, masked paths, security modules")
	caps.Programs = d.programs
	caps.NetCap = system.NoPortCap
	caps.Networks = []string{model.NetworkNone} // other networks would be the engine's own, not tare's
	return caps
}

func (d *Driver) Check(ctx context.Context, h *system.Host) system.Status {
	st := system.Status{Usable: true, Versions: map[string]string{}}
	for _, p := range d.programs {
		_, version, err := h.Program(ctx, p)
		if err != nil {
			return system.NoProgram(err)
		}
		st.Versions[p] = version
	}
	st.Proof = st.Versions[d.programs[0]] + ", to be started by tare for itself"
	return st
}
