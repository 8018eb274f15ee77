package systemtest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
)

// While a guest is frozen, all processes of its system together may use idleShare of one CPU. The
// share is measured over idleWindow, at most idleLooks times.
const (
	idleShare  = 0.005
	idleWindow = 2 * time.Second
	idleLooks  = 8
)

// idle measures how much CPU time a frozen guest and all that its system keeps running for it,
// daemons included, take from the arms that are measured meanwhile. A guest that cannot be frozen
// is idle instead. Other work on the host does not affect CPU time. The best of several
// measurements counts, since earlier requests may still have to finish.
func (s suite) idle(t *testing.T) {
	if s.d.Capabilities().InMemory {
		t.Skip("a guest in memory is this process")
	}
	s.sh(t, "true") // so that the agent's stream has been used
	if err := s.m.Freeze(timeout(t)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.m.Thaw(timeout(t)); err != nil {
			t.Fatal(err)
		}
		s.sh(t, "true")
	}()
	var shares []string
	for range idleLooks {
		begin, before := time.Now(), s.spent(t)
		time.Sleep(idleWindow)
		after := s.spent(t)
		used := after.since(before)
		share := used.total().Seconds() / time.Since(begin).Seconds()
		if share <= idleShare {
			t.Logf("%.2f %% of a CPU: %v", 100*share, used)
			return
		}
		shares = append(shares, fmt.Sprintf("%.2f %%: %v", 100*share, used))
	}
	t.Errorf("beside a frozen guest its system uses more than %.1f %% of a CPU:\n%s", 100*idleShare,
		strings.Join(shares, "\n"))
}

// spent is CPU time so far, by process.
type spent map[string]time.Duration

// spent reads the CPU time of every process in the sandbox except tare's own, which here are
// this process and the sandbox's first. It adds the CPU time of the guest's control group that none
// of the group's processes used: that of kernel threads which work for the guest.
func (s suite) spent(t *testing.T) spent {
	t.Helper()
	all, in := spent{}, map[int]bool{}
	kernel := time.Duration(0)
	if u, err := s.m.Usage(); err == nil {
		kernel = u.CPU
	} else if !errors.Is(err, cgroup.ErrUnknown) {
		t.Fatal(err)
	}
	if s.m.Site.Group != nil {
		pids, err := s.m.Site.Group.Processes()
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			in[pid] = true
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		pid, _ := strconv.Atoi(filepath.Base(p))
		name, err := os.ReadFile(p + "/comm")
		if err != nil || pid == 1 || pid == os.Getpid() {
			continue
		}
		cpu, err := processTime(pid)
		if err != nil {
			continue // it has just ended
		}
		all[fmt.Sprintf("%s (pid %d)", strings.TrimSpace(string(name)), pid)] = cpu
		if in[pid] {
			kernel -= cpu
		}
	}
	all["the rest of the guest's group"] = kernel
	return all
}

// processTime returns the CPU time of all threads of a process, including those that have ended,
// from the clock that the kernel keeps for each process; see clock_getcpuclockid(3). /proc has it,
// too, but in steps of 10 ms.
func processTime(pid int) (time.Duration, error) {
	const scheduler = 2
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduler), &ts)
	return time.Duration(ts.Nano()), err
}

// since returns the CPU time since before of the processes that still exist.
func (s spent) since(before spent) spent {
	used := spent{}
	for who, cpu := range s {
		if d := cpu - before[who]; d > 0 {
			used[who] = d
		}
	}
	return used
}

func (s spent) total() (sum time.Duration) {
	for _, cpu := range s {
		sum += cpu
	}
	return sum
}

// String lists the processes, largest first.
func (s spent) String() string {
	var text []string
	for _, who := range slices.SortedFunc(maps.Keys(s), func(a, b string) int { return int(s[b] - s[a]) }) {
		text = append(text, fmt.Sprintf("%s %v", who, s[who]))
	}
	return strings.Join(text, ", ")
}
