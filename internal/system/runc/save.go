package runc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
	"github.com/tare-bench/tare/internal/tools"
)

// criu is the program with which runc saves and restores containers.
const criu = "criu"

// CheckSave asks CRIU whether it supports this kernel.
func (driver) CheckSave(ctx context.Context) system.Status {
	const remedy = "scripts/install-criu"
	p, err := tools.Find(criu, "")
	if err != nil {
		return system.Unusable("its guests cannot be saved, since CRIU is not installed", remedy)
	}
	if out, err := p.Command(ctx, "check").CombinedOutput(); err != nil {
		return system.Unusable(
			fmt.Sprintf("its guests cannot be saved: %s check: %v%s", p.Path, err, complaints(out)), remedy)
	}
	return system.Status{Usable: true}
}

// Restore has runc create the container again and CRIU fill it with the saved processes. The network namespace
// and the data volume are not part of their state: they have stayed on the site.
func (d driver) Restore(_ context.Context, s *system.Site, dir string) (system.Guest, error) {
	argv := d.Command(s, slices.Concat([]string{"restore", "--bundle", oci.BundleDir(s)}, state(s, dir))...)
	g, err := d.Begin(s, append([]string{"env", searchPath()}, argv...))
	if err != nil {
		return nil, err
	}
	return &guest{GroupGuest: g, runtime: d.Runtime, site: s}, nil
}

// state returns the arguments of runc's commands that write and read the state of a site's guest.
func state(s *system.Site, dir string) []string {
	return []string{"--image-path", dir, "--work-path", workDir(s), "--tcp-established", "--file-locks", s.ID}
}

// workDir is where CRIU writes its logs.
func workDir(s *system.Site) string { return filepath.Join(s.Dir, criu) }

// searchPath adds the directory of tools to PATH: runc finds CRIU in no other way since version 1.2.
func searchPath() string { return "PATH=" + tools.Dir + ":" + os.Getenv("PATH") }

// guest is a container that CRIU saves.
type guest struct {
	*system.GroupGuest
	runtime oci.Runtime
	site    *system.Site
	failure string // why CRIU could not restore it
}

// Save has CRIU write the processes to files in dir and end them.
func (g *guest) Save(ctx context.Context, dir string) error {
	p, err := tools.Find(g.runtime.Program, g.site.Flavor.Programs)
	if err != nil {
		return err
	}
	env, err := p.Beside("env")
	if err != nil {
		return err
	}
	argv := g.runtime.Command(g.site, append([]string{"checkpoint"}, state(g.site, dir)...)...)
	if out, err := env.Command(ctx, append([]string{searchPath()}, argv...)...).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Guestf("runc checkpoint: %w: %s%s", err, bytes.TrimSpace(out), complaintsIn(g.site, "dump.log"))
	}
	return g.WaitEnd(ctx)
}

// Close also reads why CRIU failed, before its log is removed with the site.
func (g *guest) Close() error {
	g.failure += complaintsIn(g.site, "restore.log")
	return g.GroupGuest.Close()
}

func (g *guest) Log() string { return g.GroupGuest.Log() + g.failure }

// complaintsIn returns the complaints in a log of CRIU; a log that is not there has none.
func complaintsIn(s *system.Site, name string) string {
	log, _ := os.ReadFile(filepath.Join(workDir(s), name))
	return complaints(log)
}

// complaints returns the lines of CRIU's output that say what failed, each after a line break.
func complaints(log []byte) string {
	var found strings.Builder
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte("Error (")) {
			found.WriteString("\n" + strings.TrimSpace(string(line)))
		}
	}
	return found.String()
}
