package cgroup

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// freezeTimeout is how long the kernel may take to stop every process; a process stops only after a
// disk access that is in progress.
var freezeTimeout = 30 * time.Second

// Freeze stops every process in the group and returns when they have stopped.
func (g *Group) Freeze() error { return g.freeze("freezing", "1", 1) }

// Thaw resumes them.
func (g *Group) Thaw() error { return g.freeze("thawing", "0", 0) }

func (g *Group) freeze(doing, state string, want uint64) error {
	dir := filepath.Join(g.layout.V2, g.name)
	if err := os.WriteFile(filepath.Join(dir, "cgroup.freeze"), []byte(state), 0); err != nil {
		return fault.Hostf("%s control group %s: %w", doing, g.name, err)
	}
	wait := 20 * time.Microsecond
	// Freezing takes some tens of microseconds; a Go timer would wait for a whole millisecond.
	for end := time.Now().Add(freezeTimeout); ; sleep(wait) {
		events, err := readPairs(filepath.Join(dir, "cgroup.events"))
		if err != nil {
			return fault.Hostf("%s control group %s: %w", doing, g.name, err)
		}
		if events["frozen"] == want {
			return nil
		}
		if time.Now().After(end) {
			return fault.Hostf("%s control group %s: not done after %v", doing, g.name, freezeTimeout)
		}
		wait = min(2*wait, 5*time.Millisecond)
	}
}

// sleep uses the kernel's sleep, which is precise to a microsecond.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // an interrupted sleep does no harm
}
