package oci

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/system"
)

// Runtime is the system of a runtime that has runc's command line. Program is its name, the system's and that of
// Debian's package.
type Runtime struct {
	Program string
	// NoHybrid: it refuses a hybrid layout of control groups, so it does not see the hierarchy of version 2 beside
	// those of version 1.
	NoHybrid bool
}

func (r Runtime) Name() string { return r.Program }

func (Runtime) Capabilities() system.Capabilities {
	return system.GroupCapabilities("every process of the container and the runtime",
		"Docker's seccomp profile, capabilities and masked paths, and no_new_privs")
}

func (r Runtime) Check(ctx context.Context, _ *system.Host) system.Status {
	out, err := exec.CommandContext(ctx, r.Program, "--version").Output()
	if err != nil {
		return system.Unusable(fmt.Sprintf("%s is not installed: %v", r.Program, err), "apt-get install "+r.Program)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return system.Status{Usable: true, Proof: first,
		Versions: map[string]string{r.Program: strings.TrimPrefix(first, r.Program+" version ")}}
}

func (r Runtime) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	spec, err := Spec(s)
	if err != nil {
		return nil, err
	}
	bundle, err := Bundle(s, spec)
	if err != nil {
		return nil, err
	}
	var hide []string
	if r.NoHybrid {
		hide = s.Group.Layout().Hybrid()
	}
	// Runs in the foreground, so that the runtime is our child. Its state is on the site and
	// is removed with it.
	p, err := s.Start(system.Command{Hide: hide, Argv: []string{
		r.Program, "--root", filepath.Join(s.Dir, "state"), "run", "--preserve-fds", "1", "--bundle", bundle, s.ID,
	}})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
