package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet/durable"
	"github.com/tare-bench/tare/internal/porttest"
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

// durableFleet is a fleet over Temporal. Its file f.yaml is in dir.
type durableFleet struct {
	dir                 string
	addresses           []string // of Temporal and of the collector
	server, coordinator *service
}

// newDurableFleet starts a Temporal server and a coordinator for a fleet with these machines, whose workers are to be
// started, and a campaign with these arms. Workers on one host must not be busy at once.
func newDurableFleet(t *testing.T, arms string, busy int, machines ...string) *durableFleet {
	t.Helper()
	live(t)
	temporal, err := filepath.Abs("../../bin/tare-fleet-dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temporal); err != nil {
		t.Skip("make tare-fleet-dev was not run")
	}
	f := &durableFleet{dir: t.TempDir()}
	for range 2 {
		f.addresses = append(f.addresses, "127.0.0.1:"+porttest.Free(t))
	}
	write(t, f.dir, "token", "0123456789abcdef\n")
	write(t, f.dir, "c.yaml", "name: c\narms: ["+arms+"]\nworkloads: [{name: sysbench-cpu, size: 150}]\n"+
		"blocks: {min: 8, max: 8}\nrecreate_every: 2\n")
	write(t, f.dir, "f.yaml", fmt.Sprintf("name: f\ncampaign: c.yaml\nbusy: %d\ndir: %s/machine\n"+
		"temporal: {address: '%s', collector: 'http://%s', token_file: token}\nmachines: {%s: }\n",
		busy, f.dir, f.addresses[0], f.addresses[1], strings.Join(machines, ": , ")))
	f.server = f.start(t, "server", temporal, "-listen", f.addresses[0], "-db", filepath.Join(f.dir, "temporal.db"))
	f.coordinator = f.start(t, "coordinator", binary, "fleet", "serve", "f.yaml", "--listen", f.addresses[1])
	return f
}

// start starts a service of the fleet, which ends with the test.
func (f *durableFleet) start(t *testing.T, name string, args ...string) *service {
	t.Helper()
	s := &service{name: name, args: args, dir: f.dir}
	s.start(t)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, s.log.String())
		}
	})
	return s
}

// worker starts the worker of a machine on this host.
func (f *durableFleet) worker(t *testing.T, machine string) *service {
	t.Helper()
	return f.start(t, "worker of "+machine, binary, "fleet", "worker", "f.yaml", "--name", machine)
}

// begin starts a run, when Temporal and the coordinator have come up, and returns what tare fleet run says in all
// attempts: one that fails may have sent the image.
func (f *durableFleet) begin(t *testing.T, args ...string) result {
	t.Helper()
	said := ""
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		// The workers wait for other tares that measure on this host, so a command that waits for them has no limit.
		r := tareWithin(t, 24*time.Hour, f.dir, append([]string{"fleet", "run", "f.yaml"}, args...)...)
		said += r.stdout
		if strings.Contains(r.stdout, "in progress") || time.Since(begin) > time.Minute {
			r.stdout = said
			return r
		}
	}
}

// eventually waits until tare fleet status says something.
func (f *durableFleet) eventually(t *testing.T, want string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		r := tare(t, f.dir, "fleet", "status", "f.yaml")
		if strings.Contains(r.stdout+r.stderr, want) {
			return
		}
		if strings.Contains(r.stdout, othersMeasure) {
			begin = time.Now() // a worker on this host waits for it, however long that takes
		}
		if time.Since(begin) > 5*time.Minute {
			t.Fatalf("fleet status never says %q, but\n%s%s", want, r.stdout, r.stderr)
		}
	}
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
	f := newDurableFleet(t, "native", 1, "node")
	anotherBuild(t, f.worker(t, "node"))
	r := f.begin(t, "--wait", "--poll", "200ms")
	if r.status != exitHost || !strings.Contains(r.stdout, "node: failed: node has another build of tare") ||
		!strings.Contains(r.stderr, "1 of 1 machines failed: node") {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// TestLiveTemporalDoctor: tare fleet doctor asks the worker, and says why a machine does not answer.
func TestLiveTemporalDoctor(t *testing.T) {
	f := newDurableFleet(t, "native", 1, "node")
	dir, worker := f.dir, f.worker(t, "node")
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

// TestLiveTemporalOffLine: run and resume leave out the machine whose check of health failed, name it, and exit with
// status 3; --even-if-unhealthy measures on it.
func TestLiveTemporalOffLine(t *testing.T) {
	f := newDurableFleet(t, "native", 1, "node", "slow")
	checks := filepath.Join(f.dir, "f", "health", "slow")
	if err := os.MkdirAll(checks, 0o755); err != nil {
		t.Fatal(err)
	}
	storedRunOf(t, filepath.Join(checks, "20260101T000000Z.tare"), 1, 1.05, "boot", 1000)
	storedRunOf(t, filepath.Join(checks, "20260102T000000Z.tare"), 2, 1.05, "boot", 1300) // makes its trials longer
	f.worker(t, "node")
	f.worker(t, "slow")
	said(t, f.begin(t, "--wait", "--poll", "200ms"), exitHost, "slow: offline: it takes",
		"run f on 1 machine is in progress", "node: done: 16 trials", "1 of 2 machines failed: slow")
	check := fleetIn(t, f.dir)
	check(exitCampaign, "fetch f.yaml --run g", `Temporal has no run "g" of fleet f`)
	check(exitIncomplete, "fetch f.yaml", "node: fetched", "slow: not part of this run",
		"no run file to fetch yet on 1 of 2 machines")
	check(exitHost, "resume f.yaml", "node: done: 16 trials", "slow: offline: it takes", "1 of 2 machines failed: slow")
	check(0, "status f.yaml", "slow: offline: it takes")
	check(0, "resume f.yaml --even-if-unhealthy", "node: done: 16 trials", "slow: waiting; offline: it takes")
	f.eventually(t, "slow: done: 16 trials")
	check(0, "fetch f.yaml", "slow: fetched")
	eachTrialOnce(t, filepath.Join(f.dir, "f", "slow", "f.tare"))
}

// TestCollected: what fetch says of a machine follows from what Temporal and the collector know of its run.
func TestCollected(t *testing.T) {
	s := &durable.Status{Machines: map[string]durable.Result{"waits": {State: durable.Waiting},
		"measures": {State: durable.Measuring}, "done": {State: durable.Done, Trials: 16},
		"cancelled": {State: durable.Cancelled}, "failed": {State: durable.Failed, Error: "no runc"}},
		Progress: map[string]durable.Progress{"measures": {Trials: 3, Log: "measure"}}}
	forgotten, down := fault.Campaignf("%w", durable.ErrNoRun), fault.Hostf("Temporal is down")
	for _, c := range []struct {
		machine   string
		statusErr error
		none      bool // the collector has no file
		want      string
		err       error
	}{
		{"waits", nil, true, "not fetched, because its run is not over: waiting", errNoFile},
		{"measures", nil, true, "not fetched, because its run is not over: measuring: 3 trials: measure", errNoFile},
		{"measures", nil, false, "fetched; its run is not over: measuring: 3 trials: measure", errNoFile},
		{"done", nil, false, "fetched", nil},
		{"cancelled", nil, false, "fetched; cancelled", nil},
		{"failed", nil, true, "there is no run file: failed: no runc", nil},
		{"new", nil, true, "not part of this run: it is newer, or was offline", errNeither},
		{"done", forgotten, false, "fetched", nil},
		{"done", forgotten, true, "has no run of this name", errNeither},
		{"done", down, false, "fetched", nil},
		{"done", down, true, "Temporal is down", down},
	} {
		text, err := collected(s, c.statusErr, c.machine, "fetched", c.none)
		if text == "" {
			text = err.Error()
		}
		if text != c.want || c.err != nil && !errors.Is(err, c.err) || !c.none && c.err == nil && err != nil {
			t.Errorf("%+v: %q, %v", c, text, err)
		}
	}
}
