package durable

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fleet/collect"
	"github.com/tare-bench/tare/internal/porttest"
)

// devServer is a real Temporal with a collector, which end with the test. pid is Temporal's.
func devServer(t *testing.T) (c Connection, pid int) {
	t.Helper()
	const program = "../../../bin/tare-fleet-dev"
	if _, err := os.Stat(program); err != nil {
		t.Skip("make tare-fleet-dev was not run")
	}
	c = Connection{Address: "127.0.0.1:" + porttest.Free(t), Namespace: "default",
		Token: filepath.Join(t.TempDir(), "token")}
	cmd := exec.Command(program, "-listen", c.Address)
	child(t, cmd)
	const token = "0123456789abcdef"
	must(t, os.WriteFile(c.Token, []byte(token), 0o600))
	s, err := collect.NewServer(t.TempDir(), token)
	must(t, err)
	web := httptest.NewServer(s.HTTP().Handler)
	t.Cleanup(web.Close)
	c.Collector = web.URL
	return c, cmd.Process.Pid
}

// background runs a part of the fleet until stop is called or the test ends.
func background(t *testing.T, part func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-ended; err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// counting is a Machine whose trials are lines of its run file.
type counting struct {
	idle
	dir    string
	trials int
	took   time.Duration
	active chan string // "begin" and "end" of Measure; nil: nobody listens
}

func (c *counting) Prepare(context.Context, Task) (string, error) {
	return "", os.MkdirAll(c.dir, 0o700)
}
func (c *counting) RunFile(t Task) string { return filepath.Join(c.dir, t.Run+".tare") }

func (c *counting) Measure(ctx context.Context, t Task, progress func(Progress)) (Outcome, error) {
	if c.active != nil {
		c.active <- "begin"
		defer func() { c.active <- "end" }()
	}
	done := c.count(t)
	for ; done < c.trials; done++ {
		select {
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		case <-time.After(c.took):
		}
		f, err := os.OpenFile(c.RunFile(t), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return Outcome{}, err
		}
		if _, err := fmt.Fprintln(f, done); errors.Join(err, f.Close()) != nil {
			return Outcome{}, err
		}
		progress(Progress{Trials: done + 1, Log: fmt.Sprintf("trial %d", done)})
	}
	return Outcome{Trials: done}, nil
}

func (c *counting) count(t Task) (lines int) {
	text, _ := os.ReadFile(c.RunFile(t)) // none yet
	for _, b := range text {
		if b == '\n' {
			lines++
		}
	}
	return lines
}

// order is a run of these machines.
func order(build string, machines ...string) Order {
	return Order{Fleet: "racks", Run: "one", Build: build, Machines: machines, Heartbeat: 3 * time.Second,
		Pause: 100 * time.Millisecond}
}

// dialled waits until Temporal is up.
func dialled(t *testing.T, c Connection) *Client {
	t.Helper()
	var client *Client
	until(t, "Temporal is up", func() (up bool) {
		var err error
		client, err = Dial(t.Context(), c, func() {})
		return err == nil
	})
	t.Cleanup(client.Close)
	return client
}

// eventually waits for a state of a run.
func eventually(t *testing.T, c *Client, what string, is func(*Status) bool) *Status {
	t.Helper()
	var s *Status
	until(t, what, func() bool {
		var err error
		s, err = c.Status(t.Context(), "racks", "one")
		return err == nil && is(s)
	})
	return s
}

func started(t *testing.T, c *Client, o Order) {
	t.Helper()
	until(t, "a coordinator polls", func() bool { return c.Start(t.Context(), o) == nil })
}

func over(s *Status) bool { return !s.Running }

// TestLive: with a real Temporal, a run is made on all machines but the one with another build, and
// the files arrive; a worker that was stopped in the middle, and a coordinator, are replaced.
func TestLive(t *testing.T) {
	conn, _ := devServer(t)
	client := dialled(t, conn)
	stopCoordinator := background(t, func(ctx context.Context) error { return Coordinate(ctx, conn, "b1") })
	dir := t.TempDir()
	work := func(name, build string) (stop func()) {
		m := &counting{dir: filepath.Join(dir, name), trials: 20, took: 400 * time.Millisecond}
		return background(t, func(ctx context.Context) error { return Work(ctx, conn, name, build, m) })
	}
	stop := work("node1", "b1")
	work("node2", "b1")
	work("node3", "b2")
	started(t, client, order("b1", "node1", "node2", "node3"))
	eventually(t, client, "node1 measures", func(s *Status) bool { return s.Progress["node1"].Trials > 0 })
	stop()
	stopCoordinator()
	background(t, func(ctx context.Context) error { return Coordinate(ctx, conn, "b1") })
	work("node1", "b1")
	s := eventually(t, client, "the run ends", over)
	collector, err := Collector(conn)
	must(t, err)
	for _, name := range []string{"node1", "node2"} {
		if r := s.Machines[name]; r.State != Done || r.Trials != 20 {
			t.Errorf("%s: %+v", name, r)
		}
		to := filepath.Join(t.TempDir(), "x.tare")
		_, err := collector.Fetch(t.Context(), collect.Name{Fleet: "racks", Machine: name, Run: "one"}, to)
		must(t, err)
		text, err := os.ReadFile(to)
		must(t, err)
		want := ""
		for i := range 20 {
			want += fmt.Sprintln(i)
		}
		if string(text) != want {
			t.Errorf("%s: trials are not there exactly once:\n%s", name, text)
		}
	}
	if r := s.Machines["node3"]; r.State != Failed {
		t.Errorf("node3: %+v", r)
	}
	if err := client.Start(t.Context(), order("b1", "node1")); err == nil {
		t.Error("a run that is over is started again")
	}
	client.patience = time.Second
	if err := client.Start(t.Context(), order("b9", "node1")); err == nil {
		t.Error("a run without a coordinator of its build is started")
	}
}

// TestLiveCancel: cancellation reaches a trial in progress; the run is resumed from where it was.
func TestLiveCancel(t *testing.T) {
	conn, _ := devServer(t)
	client := dialled(t, conn)
	background(t, func(ctx context.Context) error { return Coordinate(ctx, conn, "b1") })
	m := &counting{dir: t.TempDir(), trials: 1 << 30, took: 20 * time.Millisecond, active: make(chan string, 100)}
	background(t, func(ctx context.Context) error { return Work(ctx, conn, "node1", "b1", m) })
	started(t, client, order("b1", "node1", "off"))
	eventually(t, client, "node1 measures", func(s *Status) bool { return s.Progress["node1"].Trials > 0 })
	must(t, client.Cancel(t.Context(), "racks", "one"))
	s := eventually(t, client, "the run ends", over)
	if s.Machines["node1"].State != Cancelled || s.Machines["off"].State != Cancelled {
		t.Errorf("%+v", s.Machines)
	}
	if a, b := <-m.active, <-m.active; a != "begin" || b != "end" {
		t.Errorf("%s, %s", a, b)
	}
	m.trials = m.count(Task{Run: "one"}) + 5
	must(t, client.Resume(t.Context(), order("b1", "node1"), s))
	s = eventually(t, client, "the run ends", over)
	if r := s.Machines["node1"]; r.State != Done || r.Trials != m.trials || r.SHA256 == "" {
		t.Errorf("%+v", r)
	}
}
