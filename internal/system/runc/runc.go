// Package runc runs guests as OCI containers, one bundle each.
package runc

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
)

// Driver is the system "runc".
type Driver struct{}

func (Driver) Name() string { return "runc" }

func (Driver) Capabilities() system.Capabilities {
	return system.GroupCapabilities("every process of the container and the runtime", "none")
}

func (Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	out, err := exec.CommandContext(ctx, "runc", "--version").Output()
	if err != nil {
		return system.Unusable(fmt.Sprintf("runc is not installed: %v", err), "apt-get install runc")
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return system.Status{Usable: true, Proof: first, Versions: map[string]string{"runc": strings.TrimPrefix(first, "runc version ")}}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	bundle, err := oci.Bundle(s, oci.Spec(s))
	if err != nil {
		return nil, err
	}
	// In the foreground, so that the runtime is a child of ours; its state is
	// on the site and goes with it.
	p, err := s.StartProcess("", []string{
		"runc", "--root", filepath.Join(s.Dir, "state"), "run", "--preserve-fds", "1", "--bundle", bundle, s.ID,
	})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
