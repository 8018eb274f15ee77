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
	"fmt"
	"sync"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is the system "docker" or "podman".
type Driver struct {
	name, pkg string
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
	caps.NetCap = system.NoPortCap
	caps.Networks = []string{model.NetworkNone} // other networks would be the engine's own, not tare's
	return caps
}

func (d *Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	st := system.Status{Usable: true, Versions: map[string]string{}}
	for _, p := range d.programs {
		version, err := system.Version(ctx, p)
		if err != nil {
			return system.Unusable(fmt.Sprintf("%s is not installed: %v", d.name, err), "apt-get install "+d.pkg)
		}
		st.Versions[p] = version
	}
	st.Proof = st.Versions[d.programs[0]] + ", to be started by tare for itself"
	return st
}
