package oci

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/system"
)

// Capabilities returns the capabilities of a runtime that Run starts guests with.
func Capabilities() system.Capabilities {
	return system.GroupCapabilities("every process of the container and the runtime",
		"Docker's seccomp profile, capabilities and masked paths, and no_new_privs")
}

// Check asks a runtime for its version. Debian's package must have the runtime's name.
func Check(ctx context.Context, runtime string) system.Status {
	out, err := exec.CommandContext(ctx, runtime, "--version").Output()
	if err != nil {
		return system.Unusable(fmt.Sprintf("%s is not installed: %v", runtime, err), "apt-get install "+runtime)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return system.Status{Usable: true, Proof: first,
		Versions: map[string]string{runtime: strings.TrimPrefix(first, runtime+" version ")}}
}

// Run starts a guest with a runtime that has runc's command line. The runtime does not see the
// directories in hide.
func Run(s *system.Site, runtime string, hide ...string) (system.Guest, error) {
	spec, err := Spec(s)
	if err != nil {
		return nil, err
	}
	bundle, err := Bundle(s, spec)
	if err != nil {
		return nil, err
	}
	// Runs in the foreground, so that the runtime is our child. Its state is on the site and
	// is removed with it.
	p, err := s.Start(system.Command{Hide: hide, Argv: []string{
		runtime, "--root", filepath.Join(s.Dir, "state"), "run", "--preserve-fds", "1", "--bundle", bundle, s.ID,
	}})
	if err != nil {
		return nil, err
	}
	return system.NewGroupGuest(s, p, nil), nil
}
