package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agent/server"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/mounttest"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/volume"
)

// roleVar says what this program is to do instead of running the tests.
const roleVar = "TARE_KEEPER_TEST"

// The tests run in a mount namespace with their own /run/tare, so that they neither see other guests
// on this host nor are seen.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == server.LimitedMode { // the agent's, for commands of guests
		fmt.Fprintln(os.Stderr, server.ExecLimited(os.Args[2:]))
		os.Exit(1)
	}
	if os.Getenv(roleVar) == "keeper" {
		if err := keepFake(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if mounttest.Enter(); mounttest.Inside() {
		err := os.MkdirAll("/run/tare", 0o755)
		if err == nil {
			err = unix.Mount("tmpfs", "/run/tare", "tmpfs", 0, "")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// keepFake keeps a guest of system fake, or without one fails to start it.
func keepFake(name, kind string) error {
	Announce()
	i, err := instance.New()
	if err != nil {
		return err
	}
	defer i.Close()
	dir, err := os.MkdirTemp("", "tare-keeper-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d := &fake.Driver{}
	switch kind {
	case "broken":
		d.OnCreate = func(int) error { return fault.Guestf("no luck") }
	case "steady":
		d.Change = func(c *system.Capabilities) { c.Freeze, c.Save = "", "" }
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	return Keep(ctx, i, Status{Name: name, System: "fake"}, func(ctx context.Context) (*system.Machine, error) {
		h := &system.Host{RunID: i.ID, StateDir: dir, Dir: dir}
		m, err := system.Launch(ctx, d, h, "guest", system.Request{Flavor: model.Flavor{VCPUs: 1}})
		if err == nil && kind == "with data" {
			m.Site.Volume = &volume.Volume{Device: "/dev/some"}
		}
		return m, err
	})
}

// process is a keeper's process.
type process struct {
	pid   int
	said  strings.Builder // read only after its end
	ended chan struct{}
}

// startKeeper starts a keeper, which ends with the test.
func startKeeper(t *testing.T, name, kind string) *process {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("keepers need root: their sockets are in /run/tare")
	}
	p := &process{ended: make(chan struct{})}
	cmd := exec.Command(os.Args[0], name, kind)
	cmd.Env = append(os.Environ(), roleVar+"=keeper", "TMPDIR="+t.TempDir())
	cmd.Stderr = &p.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL} // if the tests are killed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // its output says more than its status
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		<-p.ended
	})
	return p
}

// keep starts a keeper and returns when its guest is up.
func keep(t *testing.T, name, kind string) *Client {
	t.Helper()
	p := startKeeper(t, name, kind)
	for {
		for _, c := range List() {
			if c.Keeper == p.pid && c.State != Starting {
				return c
			}
		}
		select {
		case <-p.ended:
			t.Fatalf("the keeper ended: %s", &p.said)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// state returns the state of a guest as of now.
func state(t *testing.T, c *Client) string {
	t.Helper()
	found, err := Find(c.Name)
	if err != nil {
		t.Fatal(err)
	}
	return found.State
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantFault(t *testing.T, err error, kind fault.Kind, says string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind || !strings.Contains(err.Error(), says) {
		t.Errorf("%v (fault of the %v), want one of the %v that says %q", err, fault.KindOf(err), kind, says)
	}
}

// sh runs a shell command in a guest and returns its output.
func sh(t *testing.T, c *Client, script string) (string, *agent.Result, error) {
	t.Helper()
	var out strings.Builder
	r, err := c.Run(t.Context(), agent.Command{
		Argv: []string{"sh", "-c", script}, Stdin: []byte("input\n"), Timeout: time.Minute,
		OnOutput: func(isErr bool, b []byte) {
			if isErr {
				out.WriteString("stderr: ")
			}
			out.Write(b)
		},
	})
	return out.String(), r, err
}

func TestNames(t *testing.T) {
	first, second, web := keep(t, "", ""), keep(t, "", ""), keep(t, "web", "")
	if first.Name != "fake" || second.Name != "fake-2" || web.Name != "web" {
		t.Errorf("%q, %q, %q", first.Name, second.Name, web.Name)
	}
	if web.System != "fake" || web.State != Running || web.StartNS <= 0 || web.Hello == nil || len(web.CommandLine) == 0 {
		t.Errorf("%+v", web.Status)
	}
	if all := List(); len(all) != 3 || all[0].Name != "fake" || all[2].Name != "web" {
		t.Errorf("%d guests, not in the order of their start", len(all))
	}
	_, err := Find("wbe")
	wantFault(t, err, fault.Campaign, "the guests are: fake, fake-2, web")
	twin := startKeeper(t, "web", "")
	if <-twin.ended; !strings.Contains(twin.said.String(), "there is already a guest web") {
		t.Errorf("the second of a name said %q", &twin.said)
	}
}

func TestRun(t *testing.T) {
	c := keep(t, "", "")
	out, r, err := sh(t, c, "cat; echo no >&2; exit 3")
	must(t, err)
	if r.ExitCode != 3 || !strings.Contains(out, "input\n") || !strings.Contains(out, "stderr: no\n") {
		t.Errorf("%+v\n%s", r, out)
	}
	_, err = c.Run(t.Context(), agent.Command{Argv: []string{"/no/such/program"}})
	wantFault(t, err, fault.Guest, "/no/such/program")

	r, err = c.Run(t.Context(), agent.Command{Argv: []string{"sleep", "1000"}, OnStart: func(id uint64) {
		go func() { // until it has started
			for c.Signal(t.Context(), id, unix.SIGINT) != nil && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}})
	if err != nil || r.Signal != unix.SIGINT {
		t.Errorf("interrupted: %v, %+v", err, r)
	}
	// A client that hangs up ends its command.
	ctx, hangUp := context.WithCancel(t.Context())
	_, err = c.Run(ctx, agent.Command{
		Argv:     []string{"sh", "-c", "echo $$ >pid; echo begun; exec sleep 1000"},
		OnOutput: func(bool, []byte) { hangUp() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("hung up: %v", err)
	}
	out, r, err = sh(t, c, "for i in $(seq 1000); do kill -0 $(cat pid) || exit 0; sleep 0.05; done 2>/dev/null; exit 1")
	if err != nil || r.ExitCode != 0 {
		t.Errorf("the command has survived its client: %v, %+v, %s", err, r, out)
	}
	log, err := c.Log(t.Context())
	if err != nil || !strings.Contains(log, "fake guest") {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestFreeze(t *testing.T) {
	c := keep(t, "ice", "")
	must(t, c.Freeze(t.Context()))
	if s := state(t, c); s != Frozen {
		t.Errorf("it is %s", s)
	}
	wantFault(t, c.Freeze(t.Context()), fault.Campaign, "guest ice is frozen")
	_, _, err := sh(t, c, "true")
	wantFault(t, err, fault.Campaign, "tare guest thaw ice")
	must(t, c.Thaw(t.Context()))
	wantFault(t, c.Thaw(t.Context()), fault.Campaign, "guest ice is running")
	_, _, err = sh(t, c, "true")
	must(t, err)
	wantFault(t, keep(t, "", "steady").Freeze(t.Context()), fault.Campaign, "cannot be frozen")
}

func TestSave(t *testing.T) {
	c := keep(t, "bed", "")
	_, _, err := sh(t, c, "echo kept >file")
	must(t, err)
	must(t, c.Save(t.Context()))
	if s := state(t, c); s != Saved {
		t.Errorf("it is %s", s)
	}
	_, _, err = sh(t, c, "true")
	wantFault(t, err, fault.Campaign, "tare guest restore bed")
	wantFault(t, c.Save(t.Context()), fault.Campaign, "guest bed is saved")
	must(t, c.Restore(t.Context()))
	wantFault(t, c.Restore(t.Context()), fault.Campaign, "guest bed is running")
	out, _, err := sh(t, c, "cat >/dev/null; cat file")
	if err != nil || out != "kept\n" {
		t.Errorf("%q, %v", out, err)
	}
	must(t, c.Save(t.Context()))
	must(t, c.Remove(t.Context()))
	wantFault(t, keep(t, "", "steady").Save(t.Context()), fault.Campaign, "not implemented for fake")
}

func TestHold(t *testing.T) {
	c := keep(t, "src", "with data")
	s, release, err := c.Hold(t.Context())
	must(t, err)
	if s.Data != "/dev/some" || s.State != Copied {
		t.Errorf("%+v", s)
	}
	_, _, err = c.Hold(t.Context())
	wantFault(t, err, fault.Campaign, "guest src is being copied")
	release()
	if s := state(t, c); s != Running {
		t.Errorf("released, it is %s", s)
	}
	_, _, err = keep(t, "", "").Hold(t.Context())
	wantFault(t, err, fault.Campaign, "no data volume")
}

func TestRemove(t *testing.T) {
	c := keep(t, "", "")
	must(t, c.Remove(t.Context()))
	if all := List(); len(all) != 0 {
		t.Errorf("%d guests are left", len(all))
	}
	if left := instance.Sockets(); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, err := Find(c.Name); err == nil || !strings.Contains(err.Error(), "tare guest start") {
		t.Errorf("got: %v", err)
	}
	wantFault(t, c.Freeze(t.Context()), fault.Host, "does not answer")
}

// TestFailsAtOnce: a guest which fails before the keeper's server has begun leaves no socket.
func TestFailsAtOnce(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("keepers need root: their sockets are in /run/tare")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the server's goroutine has to wait
	for range 20 {
		i, err := instance.New()
		must(t, err)
		err = Keep(t.Context(), i, Status{Name: "hasty", System: "fake"}, func(context.Context) (*system.Machine, error) {
			return nil, fault.Guestf("no luck")
		})
		wantFault(t, err, fault.Guest, "no luck")
		if left := instance.Sockets(); len(left) > 0 {
			t.Fatalf("left behind: %q", left)
		}
		i.Close()
	}
}

// TestEnds: however a guest or its keeper ends, nobody waits for them.
func TestEnds(t *testing.T) {
	broken := startKeeper(t, "", "broken")
	if <-broken.ended; !strings.Contains(broken.said.String(), "no luck") || len(instance.Sockets()) > 0 {
		t.Errorf("a guest that does not start: %q, %q", &broken.said, instance.Sockets())
	}
	c := keep(t, "", "")
	t.Cleanup(func() { // for the next repetition; tare gc does the same
		for _, socket := range instance.Sockets() {
			os.Remove(socket)
		}
	})
	_, err := c.Run(t.Context(), agent.Command{
		Argv:    []string{"sleep", "60"}, // which nobody ends
		OnStart: func(uint64) { _ = unix.Kill(c.Keeper, unix.SIGKILL) },
	})
	wantFault(t, err, fault.Guest, "was lost")
	if all := List(); len(all) != 0 {
		t.Errorf("%d guests, but the keeper is dead", len(all))
	}
}
