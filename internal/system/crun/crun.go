// Package crun runs guests as OCI containers with crun.
package crun

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
)

// Driver is the system "crun".
type Driver struct{}

func (Driver) Name() string { return "crun" }

func (Driver) Capabilities() system.Capabilities {
	return system.GroupCapabilities("every process of the container and the runtime", "none")
}

func (Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	out, err := exec.CommandContext(ctx, "crun", "--version").Output()
	if err != nil {
		return system.Unusable(fmt.Sprintf("crun is not installed: %v", err), "apt-get install crun")
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return system.Status{Usable: true, Proof: first, Versions: map[string]string{"crun": strings.TrimPrefix(first, "crun version ")}}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	bundle, err := oci.Bundle(s, oci.Spec(s))
	if err != nil {
		return nil, err
	}
	c := system.Command{Argv: []string{
		"crun", "--root", filepath.Join(s.Dir, "state"), "run", "--preserve-fds", "1", "--bundle", bundle, s.ID,
	}}
	// crun refuses version 1 with version 2 beside it. It need not know: the
	// container stays in the group of version 2 that crun is started in.
	if l := s.Group.Layout(); l.Mode() == "hybrid" {
		c.Hide = []string{l.V2}
	}
	p, err := s.Start(c)
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
