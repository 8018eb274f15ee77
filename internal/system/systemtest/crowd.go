package systemtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/system"
)

// crowdMemory is how much of the host's memory tare itself may hold, in bytes, including its
// processes outside the sandbox.
const crowdMemory = 200 << 20

// soakCrowd is the number of guests that this must be enough for.
const soakCrowd = 200

// Crowd creates many guests at once, starts a command in all of them at the same time, and closes
// them: 8 guests, or 200 with TARE_SOAK set.
func Crowd(t *testing.T, d system.Driver) {
	h, n := Host(t), 8
	if os.Getenv("TARE_SOAK") != "" {
		n = soakCrowd
	}
	needUsable(t, d, h)
	before, begin := snapshot(t, h), time.Now()
	guests := make([]*system.Machine, n)
	each := func(what string, abreast int, f func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		free := make(chan struct{}, abreast)
		for i := range guests {
			wg.Add(1)
			free <- struct{}{}
			go func() {
				defer wg.Done()
				if err := f(i); err != nil {
					t.Errorf("%s guest %d: %v", what, i, err)
				}
				<-free
			}()
		}
		wg.Wait()
	}
	f := Request()
	f.MemoryBytes, f.DiskBytes = 64<<20, 16<<20
	each("launching", 4, func(i int) (err error) {
		guests[i], err = system.Launch(t.Context(), d, h, fmt.Sprint("crowd", i), f)
		return err
	})
	defer each("closing", 4, func(i int) error {
		if guests[i] == nil {
			return nil
		}
		return guests[i].Close()
	})
	if t.Failed() {
		return
	}
	launched := time.Since(begin)
	clocks := make([]agent.Clock, n)
	each("asking the clock of", 4, func(i int) (err error) {
		clocks[i], err = guests[i].Agent.Clock(t.Context(), 8)
		return err
	})
	at := agent.Monotonic() + int64(2*time.Second+time.Duration(n)*10*time.Millisecond)
	late := make([]time.Duration, n)
	each("running in", n, func(i int) error {
		r, err := guests[i].Agent.Run(t.Context(), agent.Command{
			Argv: []string{"sh", "-c", "echo $$ >x; cat x | wc -l"}, Env: system.AgentEnv, Dir: "/data",
			StartAt: clocks[i].GuestTime(at), Timeout: time.Minute,
		})
		if err != nil {
			return err
		}
		late[i] = time.Duration(r.GuestStart - clocks[i].GuestTime(at))
		if r.ExitCode != 0 || strings.TrimSpace(string(r.Stdout)) != "1" || late[i] < 0 {
			return fmt.Errorf("%v late: %+v", late[i], r)
		}
		u, err := guests[i].Usage()
		if err == nil && u.CPU <= 0 {
			err = fmt.Errorf("it has used no CPU time")
		}
		return err
	})
	slices.Sort(late)
	resident := int64(0)
	for _, pid := range ourselves() {
		resident += residentBytes(t, pid)
	}
	t.Logf("%d guests in %v; started %v (median) and %v (the last) after the instant; tare holds %d MiB", n,
		launched.Round(time.Millisecond), late[n/2], late[n-1], resident>>20)
	// With eight guests, the race detector and garbage of earlier tests hide what a guest costs.
	if n == soakCrowd && resident > crowdMemory {
		t.Errorf("tare holds %d MiB with %d guests", resident>>20, n)
	}
	each("closing", 4, func(i int) error { return guests[i].Close() })
	nothingLeft(t, h, before)
}

// ourselves are the processes of tare: this one, the first of the sandbox, and the one outside the
// sandbox, which cannot be seen from here and is about as large as the sandbox's first.
func ourselves() []string { return []string{"self", "1", "1"} }

func residentBytes(t *testing.T, pid string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	var kb int64
	_, after, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(after, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
