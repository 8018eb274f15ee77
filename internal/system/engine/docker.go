package engine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Docker is the system "docker".
func Docker() *Driver {
	return &Driver{
		name: "docker", programs: []string{"dockerd", "containerd", "runc"},
		capCovers: "every process of the container; not containerd's shim, which waits for its end",
		daemon:    &system.Daemon{Start: dockerd, Ready: ping},
	}
}

func dockerd(dir string) (system.Command, error) {
	// An empty configuration instead of the host's, so that it is the same on every host.
	config := filepath.Join(dir, "daemon.json")
	if err := os.WriteFile(config, []byte("{}"), 0o644); err != nil {
		return system.Command{}, fault.Hostf("%w", err)
	}
	return system.Command{
		Argv: []string{
			"dockerd", "--config-file", config, "--host", "unix://" + socket(dir), "--pidfile", filepath.Join(dir, "pid"),
			"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
			// Guests use none of its networks, and it must not touch the host's firewall.
			"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
			// systemd would misread the containers' process IDs, which are of tare's namespace.
			"--exec-opt", "native.cgroupdriver=cgroupfs",
			"--log-level=warn",
		},
		Hide: []string{"/run"}, // another dockerd may have its files there, and this one would leave some
	}, nil
}

// socket is the path on which an engine listens.
func socket(dir string) string { return filepath.Join(dir, "engine.sock") }

func ping(ctx context.Context, dir string) error {
	return newClient(socket(dir)).call(ctx, "GET", "/_ping", nil, nil)
}
