package run

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/pagecache"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// mayStay is the share of the data of a volume that may stay in the page cache when it is emptied.
const mayStay = 0.01

// dropCaches sees to it that the next reads of a step go to the device: it drops the page cache of a guest
// that has its own, and the host's of the guest's data and of the step's program. Where that does not do, it drops
// the host's caches as a whole.
func (r *runner) dropCaches(ctx context.Context, m *system.Machine, s workload.Step) error {
	clear(r.warm)
	caps := m.Driver.Capabilities()
	if !caps.HostMount {
		res, err := m.Agent.Run(ctx, agent.Command{
			Argv: []string{"sh", "-c", "sync && echo 3 >/proc/sys/vm/drop_caches"}, Env: system.AgentEnv, Timeout: quickTimeout,
		})
		if err != nil {
			return err
		}
		if res.ExitCode != 0 {
			return fault.Guestf("the guest's page cache cannot be dropped: %s", res.Stderr)
		}
	}
	if m.Site.Volume == nil { // in memory, or on another machine
		return nil
	}
	if caps.HostMount && s.DropNames {
		return r.dropHostCaches("names and inodes before step " + s.Name)
	}
	stays, err := m.Site.Volume.Evict(m.Site.DataDir)
	if err != nil {
		return err
	}
	if stays > mayStay {
		return r.dropHostCaches(fmt.Sprintf("%.0f %% of the data before step %s", stays*100, s.Name))
	}
	if caps.HostMount && r.Host.Userland != nil {
		return evictProgram(r.Host.Userland.Tree, s.Argv[0])
	}
	return nil
}

// programDirs are where the programs and libraries of a userland are.
var programDirs = []string{"usr/local/bin", "usr/bin", "usr/sbin", "usr/lib/*-linux-gnu", "usr/lib"}

// evictProgram removes a program of the userland and the libraries that it is linked with from the page cache, as
// a guest that drops its caches does with its own.
func evictProgram(tree, name string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer root.Close()
	done := map[string]bool{}
	for wanted := []string{filepath.Base(name)}; len(wanted) > 0; wanted = wanted[1:] {
		if name = wanted[0]; done[name] {
			continue
		}
		done[name] = true
		for _, dir := range programDirs {
			files, _ := fs.Glob(root.FS(), filepath.Join(dir, name)) // the pattern is well formed
			for _, file := range files {
				needs, err := evictFile(root, file)
				if err != nil {
					return fault.Hostf("emptying the page cache of %s: %w", file, err)
				}
				wanted = append(wanted, needs...)
			}
		}
	}
	return nil
}

// evictFile evicts a file and returns the libraries that it needs, if it is a program or library.
func evictFile(root *os.Root, name string) (needs []string, err error) {
	f, err := root.Open(name)
	if err != nil { // a link that leads out of the userland, or nowhere
		return nil, nil
	}
	defer f.Close()
	if program, err := elf.NewFile(f); err == nil {
		needs, _ = program.ImportedLibraries() // one without any needs none
	}
	return needs, pagecache.Evict(f)
}

// dropHostCaches drops the caches of the whole host, which disturbs everybody on it, and journals for what. Without the
// permission to do so it does nothing.
func (r *runner) dropHostCaches(what string) error {
	if r.Campaign.Polite.Asked() {
		r.note(store.EventCachesKept, "a polite run leaves the host's caches as they are: "+what)
		return nil
	}
	clear(r.warm)
	unix.Sync()
	err := pagecache.DropAll()
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil
	case err != nil:
		return fault.Hostf("dropping the host's page cache: %w", err)
	}
	return storeErr(r.Store.AddEvent(r.session, 0, store.EventCachesDropped, what))
}
