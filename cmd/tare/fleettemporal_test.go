package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// service is a process that is started again whenever it has ended, as systemd does.
type service struct {
	name  string
	args  []string
	dir   string
	log   bytes.Buffer
	cmd   *exec.Cmd
	ended chan struct{}
}

func (s *service) start(t *testing.T) {
	t.Helper()
	s.cmd, s.ended = exec.Command(s.args[0], s.args[1:]...), make(chan struct{})
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, &s.log, &s.log
	s.cmd.WaitDelay = time.Second // what it started may hold its output for a moment
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd, ended, started := s.cmd, s.ended, make(chan error)
	go func() { // the parent-death signal is tied to the thread
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		cmd.Wait()
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

func (s *service) kill() {
	kill9(s.cmd.Process.Pid)
	<-s.ended
}

// revive starts the service again if it has ended by itself.
func (s *service) revive(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
		s.start(t)
	default:
	}
}

// freeAddress is one on loopback where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// temporalFleet starts a Temporal server, a coordinator and the worker of a machine node, and returns the folder with
// their fleet's file f.yaml.
func temporalFleet(t *testing.T) (dir string, server, coordinator, worker *service) {
	t.Helper()
	live(t)
	temporal, err := filepath.Abs("../../bin/tare-fleet-dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temporal); err != nil {
		t.Skip("make tare-fleet-dev was not run")
	}
	dir = t.TempDir()
	at, collector := freeAddress(t), freeAddress(t)
	write(t, dir, "token", "0123456789abcdef\n")
	write(t, dir, "c.yaml", "name: c\narms: [native]\nworkloads: [{name: sysbench-cpu, size: 150}]\n"+
		"blocks: {min: 8, max: 8}\nrecreate_every: 2\n")
	write(t, dir, "f.yaml", "name: f\ncampaign: c.yaml\ndir: "+filepath.Join(dir, "machine")+"\ntemporal: {address: '"+at+
		"', collector: 'http://"+collector+"', token_file: token}\nmachines: {node: }\n")
	start := func(name string, args ...string) *service {
		s := &service{name: name, args: args, dir: dir}
		s.start(t)
		t.Cleanup(func() {
			s.kill()
			if t.Failed() {
				t.Logf("%s said:\n%s", name, s.log.String())
			}
		})
		return s
	}
	return dir, start("server", temporal, "-listen", at, "-db", filepath.Join(dir, "temporal.db")),
		start("coordinator", binary, "fleet", "serve", "f.yaml", "--listen", collector),
		start("worker", binary, "fleet", "worker", "f.yaml", "--name", "node")
}

// TestLiveTemporalKilled: whenever Temporal's server, the coordinator, the worker on the machine and the run below it
// are killed, the run is completed in the end, with each trial once, and nothing of it is left. Each is killed once,
// with TARE_SOAK 25 times.
func TestLiveTemporalKilled(t *testing.T) {
	dir, server, coordinator, worker := temporalFleet(t)
	services := []*service{server, coordinator, worker}
	rounds := 1
	if os.Getenv("TARE_SOAK") != "" {
		rounds = 25
	}
	var victims []int // indices of services; one more is the run
	for range rounds {
		victims = append(victims, rand.Perm(len(services)+1)...)
	}
	kills := len(victims)
	for run := 0; len(victims) > 0; run++ {
		name := fmt.Sprint("killed-", run)
		limit := 8 * time.Second // within which something is killed; more and more, so that every run comes to its end
		for ended := false; !ended; limit += 4 * time.Second {
			for _, s := range services {
				s.revive(t)
			}
			r := tare(t, dir, "fleet", "status", "f.yaml", "--run", name)
			switch {
			case strings.Contains(r.stdout, "node: done: "):
				ended = true
				continue
			case strings.Contains(r.stdout, "node: done"): // with an exit status
				t.Fatalf("%s: %s", name, r.stdout)
			case strings.Contains(r.stdout, "node: failed"):
				// A host's fault six times in a row, as when another tare measures on this host.
				t.Log(r.stdout)
				tare(t, dir, "fleet", "resume", "f.yaml", "--run", name)
			case strings.Contains(r.stderr, "has no such run"):
				tare(t, dir, "fleet", "run", "f.yaml", "--run", name)
			}
			if len(victims) == 0 {
				time.Sleep(time.Second)
				continue
			}
			time.Sleep(rand.N(limit))
			if v := victims[0]; v < len(services) {
				services[v].kill()
			} else if pids := descendants(worker.cmd.Process.Pid); len(pids) > 1 {
				kill9(pids[1+rand.N(min(3, len(pids)-1))])
			} else {
				continue // it is not there now
			}
			victims = victims[1:]
		}
		if r := tare(t, dir, "fleet", "fetch", "f.yaml", "--run", name); r.status != 0 {
			t.Fatalf("fetch: status %d\n%s%s", r.status, r.stdout, r.stderr)
		}
		eachTrialOnce(t, filepath.Join(dir, "f", "node", name+".tare"))
		t.Logf("%s is complete; %d of %d kills are left", name, len(victims), kills)
	}
	for _, s := range services {
		s.kill()
	}
	nothingLeft(t)
}

// anotherBuild replaces a service by one of another build.
func anotherBuild(t *testing.T, s *service) {
	t.Helper()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(s.dir, "other")
	// The kernel ignores what follows the program.
	if err := os.WriteFile(other, append(program, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.args[0] = other
	s.start(t)
}

// TestLiveTemporalFailed: tare fleet run names a machine whose run failed, and exits with status 3.
func TestLiveTemporalFailed(t *testing.T) {
	dir, _, _, worker := temporalFleet(t)
	anotherBuild(t, worker)
	run := func() result { return tare(t, dir, "fleet", "run", "f.yaml", "--wait", "--poll", "200ms") }
	r := run()
	for begin := time.Now(); !strings.Contains(r.stdout, "in progress") && time.Since(begin) < time.Minute; r = run() {
		time.Sleep(100 * time.Millisecond) // Temporal or the coordinator is coming up
	}
	if r.status != exitHost || !strings.Contains(r.stdout, "node: failed: node has another build of tare") ||
		!strings.Contains(r.stderr, "1 of 1 machines failed: node") {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// TestLiveTemporalDoctor: tare fleet doctor asks the worker, and says why a machine does not answer.
func TestLiveTemporalDoctor(t *testing.T) {
	dir, _, _, worker := temporalFleet(t)
	check := func(status int, patience string, want ...string) {
		t.Helper()
		doctor := func() result { return tare(t, dir, "fleet", "doctor", "f.yaml", "--patience", patience) }
		r := doctor()
		for begin := time.Now(); !strings.Contains(r.stdout, want[0]) && time.Since(begin) < 3*time.Minute; r = doctor() {
			time.Sleep(100 * time.Millisecond) // the coordinator is coming up, or Temporal gave the task to a dead worker
		}
		for _, w := range want {
			if r.status != status || !strings.Contains(r.stdout, w) {
				t.Errorf("status %d, want %d and %q:\n%s%s", r.status, status, w, r.stdout, r.stderr)
			}
		}
	}
	check(0, "5m", "systems: native", "node: ")
	worker.kill()
	check(exitHost, "1s", "node: its worker did not answer within 1s")
	anotherBuild(t, worker)
	check(exitHost, "5m", "node: node has another build of tare")
}
