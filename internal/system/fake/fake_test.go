package fake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agent/server"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == server.LimitedMode { // the agent's, for real commands
		fmt.Fprintln(os.Stderr, server.ExecLimited(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	d := &Driver{}
	systemtest.RunOn(t, d, Host(t))
	if len(d.Live()) > 0 {
		t.Errorf("not closed: %v", d.Live())
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("goroutines %d → %d\n%s", goroutines, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}

func launch(t *testing.T, d *Driver) *system.Machine {
	t.Helper()
	f := model.Flavor{VCPUs: 2, MemoryBytes: 1 << 30, CPUCap: 0.5}
	m, err := system.Launch(t.Context(), d, Host(t), "a", system.Request{Flavor: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// run executes a command that may take a minute, which is long enough on the busiest machine.
func run(t *testing.T, m *system.Machine, argv ...string) (*agent.Result, error) {
	t.Helper()
	return m.Agent.Run(t.Context(), agent.Command{Argv: argv, Timeout: time.Minute, OutputLimit: 100})
}

// runBriefly executes a command that is killed at once. A guest has long enough to report that.
func runBriefly(t *testing.T, m *system.Machine, argv ...string) (*agent.Result, error) {
	t.Helper()
	return m.Agent.Run(t.Context(), agent.Command{Argv: argv, Timeout: time.Millisecond, HangGrace: 5 * time.Second})
}

func TestScript(t *testing.T) {
	d := &Driver{ClockOffset: time.Hour, Behave: func(argv []string) Behaviour {
		switch argv[0] {
		case "long":
			return Behaviour{Took: time.Hour}
		case "missing":
			return Behaviour{SpawnError: "not found"}
		}
		return Behaviour{
			Took: time.Millisecond, GuestTook: time.Minute, Stdout: strings.Repeat("x", 101), Stderr: "e",
			ExitCode: 7, CPU: time.Second, Written: 512,
		}
	}}
	m := launch(t, d)
	if m.Hello.CPUs != 2 || m.Hello.MemoryBytes != 1<<30 {
		t.Errorf("%+v", m.Hello)
	}
	clock, err := m.Agent.Clock(t.Context(), 5)
	if err != nil || (clock.Offset-time.Hour).Abs() > clock.Delay {
		t.Errorf("%+v, %v", clock, err)
	}
	r, err := run(t, m, "a")
	if err != nil || r.ExitCode != 7 || len(r.Stdout) != 100 || !r.Truncated || r.GuestWall() != time.Minute {
		t.Errorf("%+v, %v", r, err)
	}
	u, _ := m.Usage()
	if w, _ := m.Written(); u.CPU != time.Second || w != 512 {
		t.Errorf("%+v, %d", u, w)
	}
	if r, err := runBriefly(t, m, "long"); err != nil || !r.TimedOut || r.Signal != unix.SIGKILL {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := run(t, m, "missing"); fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), "not found") {
		t.Errorf("%v", err)
	}
	// A cancelled command is killed, and the guest stays.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = m.Agent.Run(ctx, agent.Command{Argv: []string{"long"}, OnStart: func(uint64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := run(t, m, "a"); err != nil {
		t.Error(err)
	}
	m.Close()
	want := []string{"create fake-a", "run fake-a a", "run fake-a long", "run fake-a missing", "run fake-a long",
		"run fake-a a", "close fake-a"}
	if got := d.Events(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTrouble(t *testing.T) {
	for trouble, want := range map[Trouble]string{
		Dies: "died", Hangs: "hangs", Nonsense: "unknown kind", Floods: "more output than",
	} {
		d := &Driver{Behave: func([]string) Behaviour { return Behaviour{Trouble: trouble} }}
		m := launch(t, d)
		answer := run
		if trouble == Hangs {
			answer = runBriefly
		}
		_, err := answer(t, m, "x")
		if fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := run(t, m, "x"); fault.KindOf(err) != fault.Guest {
			t.Errorf("after %s: %v", want, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFrozen(t *testing.T) {
	d := &Driver{
		Behave: func([]string) Behaviour { return Behaviour{} },
		Change: func(c *system.Capabilities) { c.StopsClock = true },
	}
	m := launch(t, d)
	before, err := m.Agent.Clock(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() {
		_, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"early"}})
		ran <- err
	}()
	select {
	case err := <-ran:
		t.Errorf("a frozen guest ran a command: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	for !slices.Contains(d.Events(), "talked to while frozen fake-a") { // on a busy host, the command needs longer
		time.Sleep(time.Millisecond)
	}
	if err := m.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
	after, err := m.Agent.Clock(t.Context(), 5)
	if err != nil || before.Offset-after.Offset < 50*time.Millisecond-before.Delay-after.Delay {
		t.Errorf("the clock did not stand still: %+v, %+v, %v", before, after, err)
	}
}

func TestStarts(t *testing.T) {
	d := &Driver{Behave: func([]string) Behaviour { return Behaviour{} }, OnCreate: func(n int) error {
		switch n {
		case 1:
			return fault.Hostf("no room")
		case 2:
			return ErrDiesBooting
		}
		return nil
	}}
	h := Host(t)
	for _, want := range []fault.Kind{fault.Host, fault.Guest} {
		_, err := system.Launch(t.Context(), d, h, "a", system.Request{})
		if fault.KindOf(err) != want {
			t.Errorf("want the %v's fault: %v", want, err)
		}
	}
	m, err := system.Launch(t.Context(), d, h, "a", system.Request{})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if len(d.Live()) > 0 {
		t.Errorf("not closed: %v", d.Live())
	}
}
