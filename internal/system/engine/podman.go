package engine

import (
	"path/filepath"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/system"
)

// Podman is the system "podman". Its containers need no daemon; tare uses its API service, which
// starts them in the same way as the command line does.
func Podman() *Driver {
	return &Driver{
		name: "podman", programs: []string{"podman", "conmon"},
		capCovers: "every process of the container and conmon",
		daemon:    &system.Daemon{Start: podman, Ready: ping},
	}
}

func podman(dir string) (system.Command, error) {
	layout, err := cgroup.Detect()
	if err != nil {
		return system.Command{}, err
	}
	return system.Command{
		Argv: []string{
			"podman", "--root", filepath.Join(dir, "data"), "--runroot", filepath.Join(dir, "run"), "--tmpdir",
			filepath.Join(dir, "tmp"),
			// Without systemd and its journal.
			"--cgroup-manager=cgroupfs", "--events-backend=file", "--log-level=warn",
			"system", "service", "--time=0", "unix://" + socket(dir),
		},
		// Its runtime is usually crun, which refuses a hybrid layout.
		Hide: append(layout.Hybrid(), "/run"),
	}, nil
}
