package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fleet/machinetest"
)

// clients kills commands of a fleet, and counts the kills.
type clients struct {
	dir   string // with f.yaml
	kills map[string]int
}

// kill starts tare fleet VERB for a run and kills it within a time. It reports whether the command lived until then.
func (c *clients) kill(t *testing.T, within time.Duration, run, verb string, args ...string) bool {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"fleet", verb, "f.yaml", "--run", run}, args...)...)
	cmd.Dir = c.dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(rand.N(within))
	kill9(cmd.Process.Pid)
	cmd.Wait()
	if cmd.ProcessState.Exited() {
		return false
	}
	c.kills[verb]++
	return true
}

// fetched fetches the file of a complete run, and does so again while the command is killed. It fails unless the file
// appears as a whole, with each trial once, and nothing else is in its folder in the end.
func (c *clients) fetched(t *testing.T, run string) {
	t.Helper()
	folder := filepath.Join(c.dir, "f", "node")
	path := filepath.Join(folder, run+".tare")
	gone := func() {
		t.Helper()
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	fetch := func() time.Duration {
		t.Helper()
		gone()
		begin := time.Now()
		r := tare(t, c.dir, "fleet", "fetch", "f.yaml", "--run", run)
		if r.status != 0 || !strings.Contains(r.stdout, "node: fetched") {
			t.Fatalf("fetch: status %d\n%s%s", r.status, r.stdout, r.stderr)
		}
		eachTrialOnce(t, path)
		return time.Since(begin)
	}
	took := fetch()
	for range 3 {
		gone()
		c.kill(t, took, run, "fetch")
		if _, err := os.Stat(path); err == nil {
			eachTrialOnce(t, path)
		}
	}
	fetch()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "killed-") || !strings.HasSuffix(e.Name(), ".tare") {
			t.Errorf("%s is left in %s", e.Name(), folder)
		}
	}
}

// TestLiveTemporalKilled: whenever Temporal's server, the coordinator, the worker on the machine, the run below it and
// the commands that start, resume, cancel, show and fetch it are killed, the run is completed in the end, with each
// trial once, and nothing of it is left. Each is killed once, with TARE_SOAK 25 times.
func TestLiveTemporalKilled(t *testing.T) {
	f := newDurableFleet(t, "native", 1, "node")
	worker := f.worker(t, "node")
	services := []*service{f.server, f.coordinator, worker}
	measuring := len(services) // victims are indices of services, and these two
	client := measuring + 1
	rounds := 1
	if os.Getenv("TARE_SOAK") != "" {
		rounds = 25
	}
	var victims []int
	for range rounds {
		victims = append(victims, rand.Perm(client+1)...)
	}
	kills, c := len(victims), clients{f.dir, map[string]int{}}
	for run := 0; len(victims) > 0; run++ {
		name := fmt.Sprint("killed-", run)
		var within time.Duration // a command is killed within it: while it starts, is at work, or has done it
		// do lets a command of the fleet do something, or be killed, perhaps before it has done so.
		do := func(verb string, args ...string) {
			i := slices.Index(victims, client)
			if i < 0 || i > 0 && rand.N(2) == 0 {
				tare(t, f.dir, "fleet", verb, "f.yaml", "--run", name)
			} else if c.kill(t, within, name, verb, args...) {
				victims = slices.Delete(victims, i, i+1)
			}
		}
		limit := 8 * time.Second // within which something is killed; more and more, so that every run comes to its end
		for began, ended := false, false; !ended; limit += 4 * time.Second {
			for _, s := range services {
				s.revive(t)
			}
			begin := time.Now()
			r := tare(t, f.dir, "fleet", "status", "f.yaml", "--run", name)
			within = 3 * time.Since(begin)
			began = began || strings.Contains(r.stdout, "node: ")
			switch {
			case strings.Contains(r.stdout, "node: done: "):
				ended = true
				continue
			case strings.Contains(r.stdout, "node: done"): // with an exit status
				t.Fatalf("%s: %s", name, r.stdout)
			case strings.Contains(r.stdout, "node: failed"): // with six faults of the host in a row
				t.Log(r.stdout)
				do("resume")
			case strings.Contains(r.stdout, "node: cancelled"):
				do("resume")
			case strings.Contains(r.stderr, "Temporal has no run") && began:
				t.Fatalf("%s had begun and is lost:\n%s", name, r.stderr)
			case strings.Contains(r.stderr, "Temporal has no run"):
				do("run", "--wait", "--poll", "200ms")
				continue
			}
			if len(victims) == 0 {
				time.Sleep(time.Second)
				continue
			}
			time.Sleep(rand.N(limit))
			switch v := victims[0]; {
			case v < measuring:
				services[v].kill()
			case v == client:
				do([]string{"run", "resume", "status", "fetch", "cancel"}[rand.N(5)])
				continue
			default:
				pids := descendants(worker.cmd.Process.Pid)
				if len(pids) < 2 {
					continue // it is not there now
				}
				kill9(pids[1+rand.N(min(3, len(pids)-1))])
			}
			victims = victims[1:]
		}
		c.fetched(t, name)
		t.Logf("%s is complete; %d of %d kills are left; of commands: %v", name, len(victims), kills, c.kills)
	}
	for _, s := range services {
		s.kill()
	}
	nothingLeft(t)
}

// TestFleetKilled: whenever the commands and the tare on the machine are killed, the run is completed in the end, with
// each trial once, nothing of it left on the machine, and no secret in it. With TARE_SOAK, that tare is killed a
// hundred times, and the commands more often.
func TestFleetKilled(t *testing.T) {
	live(t)
	kills := 2
	if os.Getenv("TARE_SOAK") != "" {
		kills = 100
	}
	config := machinetest.Start(t, machinetest.Machine{Name: "node", Userland: machinetest.This,
		Images: filepath.Join(defaultStateDir(), "images")})
	dir, _ := fleetOfMachines(t, config, "native", "node: ")
	on := func(script string) string { return onMachine(t, config, "node", script) }
	c := clients{dir, map[string]int{}}
	for run := 0; kills > 0; run++ {
		name := fmt.Sprint("killed-", run)
		if os.Getenv("TARE_SOAK") != "" {
			on("rm -rf /var/lib/tare/fleet/bin") // so that tare is copied again
		}
		limit := 2 * time.Second // within which a command is killed; more where even its start takes longer
		r := result{}
		for began := false; !strings.Contains(r.stdout, "node: complete"); limit += limit / 4 {
			running := strings.Contains(r.stdout, "node: running")
			switch {
			case !began:
				c.kill(t, limit, name, "run", "--wait", "--poll", "200ms")
			case !running:
				c.kill(t, limit, name, "resume")
			default:
				c.kill(t, limit, name, []string{"run", "resume", "status", "fetch", "cancel"}[rand.N(5)])
			}
			r = tare(t, dir, "fleet", "status", "f.yaml", "--run", name)
			if absent := strings.Contains(r.stdout, "node: has no run"); absent && began {
				t.Fatalf("%s had begun and is lost:\n%s%s", name, r.stdout, r.stderr)
			} else if !absent && r.status == 0 {
				began = true
			}
			if !strings.Contains(r.stdout, "node: running") {
				continue
			}
			time.Sleep(rand.N(2 * time.Second)) // the run needs no command
			if kills == 0 {
				continue
			}
			// The outer process, process 1, or the inner one.
			pids := strings.Fields(on("p=$(cat /var/lib/tare/fleet/runs/" + name + "/pid); echo $p; pgrep -P $p && " +
				"pgrep -P $(pgrep -P $p) || true"))
			on("kill -9 " + pids[rand.N(len(pids))] + " || true")
			kills--
		}
		c.fetched(t, name)
		noSecret(t, filepath.Join(dir, "f", "node", name+".tare"), config)
		t.Logf("%s is complete; %d kills are left; of commands: %v", name, kills, c.kills)
	}
	if programs := strings.Fields(on("ls -A /var/lib/tare/fleet/bin")); len(programs) != 1 {
		t.Errorf("the machine has the programs %q", programs)
	}
	nothingToCollect(t, func() string { return leftOn(t, config, "node", "$(ls /var/lib/tare/fleet/bin/tare-*)") })
}
