package oci

import (
	"context"
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

func (r Runtime) Capabilities() system.Capabilities {
	caps := system.GroupCapabilities("every process of the container and the runtime",
		"Docker's seccomp profile, capabilities and masked paths, and no_new_privs")
	caps.Programs = []string{r.Program}
	return caps
}

func (r Runtime) Check(ctx context.Context, h *system.Host) system.Status {
	_, version, err := h.Program(ctx, r.Program)
	if err != nil {
		return system.NoProgram(err)
	}
	return system.Status{Usable: true, Proof: version,
		Versions: map[string]string{r.Program: strings.TrimPrefix(version, r.Program+" version ")}}
}

func (r Runtime) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	g, err := r.Run(s)
	if err != nil {
		return nil, err // and not a guest that is a nil pointer
	}
	return g, nil
}

// Run creates the guest. The caller closes it.
func (r Runtime) Run(s *system.Site) (*system.GroupGuest, error) {
	spec, err := Spec(s)
	if err != nil {
		return nil, err
	}
	bundle, err := Bundle(s, spec)
	if err != nil {
		return nil, err
	}
	return r.Begin(s, r.Command(s, "run", "--bundle", bundle, s.ID))
}

// Command is the command line of the runtime for the containers of a site. Their state is on the site and is
// removed with it.
func (r Runtime) Command(s *system.Site, args ...string) []string {
	return append([]string{r.Program, "--root", filepath.Join(s.Dir, "state")}, args...)
}

// Begin starts the guest with this command line, which may begin with a program that starts the runtime. The runtime
// stays in the foreground, as our child.
func (r Runtime) Begin(s *system.Site, argv []string) (*system.GroupGuest, error) {
	var hide []string
	if r.NoHybrid {
		hide = s.Group.Layout().Hybrid()
	}
	p, err := s.Start(system.Command{Hide: hide, Argv: argv, For: r.Program, Stdio: true})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
