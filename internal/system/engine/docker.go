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
		name: "docker", pkg: "docker.io", programs: []string{"dockerd", "containerd", "runc"},
		capCovers: "every process of the container; not containerd's shim, which waits for its end",
		daemon:    &system.Daemon{Start: dockerd, Ready: ping},
	}
}

func dockerd(dir string) (system.Command, error) {
	// Not the host's configuration: the same on every host.
	config := filepath.Join(dir, "daemon.json")
	if err := os.WriteFile(config, []byte("{}"), 0o644); err != nil {
		return system.Command{}, fault.Hostf("%w", err)
	}
	return system.Command{
		Argv: []string{
			"dockerd", "--config-file", config, "--host", "unix://" + socket(dir), "--pidfile", filepath.Join(dir, "pid"),
			"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
			// No guest has one of its networks, and the host's firewall is not its business.
			"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
			// systemd would know the containers by numbers of processes in tare's namespace.
			"--exec-opt", "native.cgroupdriver=cgroupfs",
			"--log-level=warn",
		},
		Hide: []string{"/run"}, // where another may have its files, and this would leave some
	}, nil
}

// socket is where an engine listens.
func socket(dir string) string { return filepath.Join(dir, "engine.sock") }

func ping(ctx context.Context, dir string) error {
	return newClient(socket(dir)).call(ctx, "GET", "/_ping", nil, nil)
}
