package systemtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// keepsNonce keeps a line of its input in memory and prints it when it gets the signal.
const keepsNonce = `read -r nonce
trap 'echo "$nonce"; exit' USR1
echo ready
while :; do sleep 0.1; done`

// Restored saves guests and restores them: programs, memory, files and the network continue, several
// times, and a guest that was started anew is refused.
func Restored(t *testing.T, d system.Driver) {
	h := Host(t)
	before := snapshot(t, h)
	t.Run("continues", func(t *testing.T) {
		s := suite{d: d, m: launch(t, d, h, "restored", networked(d)), size: 1 << 20}
		began, err := s.m.Agent.Hello(timeout(t))
		if err != nil {
			t.Fatal(err)
		}
		s.sh(t, "echo kept >/data/file && echo kept >/dev/shm/file")
		for range 2 {
			nonce := rand.Text()
			var atSave string
			kept := keep(t, s.m, nonce, func() {
				saved, err := s.m.Save(timeout(t))
				if err != nil {
					t.Fatal(err)
				}
				if saved.Time <= 0 || saved.Flushed < saved.Time || len(saved.Files) == 0 {
					t.Errorf("%+v", saved)
				}
				atSave = filepath.Dir(saved.Files[0])
				if err := s.m.Restore(timeout(t)); err != nil {
					t.Fatal(err)
				}
			})
			if kept != "ready\n"+nonce+"\n" {
				t.Errorf("the program printed %q", kept)
			}
			if got := s.sh(t, "cat /data/file /dev/shm/file"); string(got.Stdout) != "kept\nkept\n" {
				t.Errorf("the files hold %q: %s", got.Stdout, got.Stderr)
			}
			if now, err := s.m.Agent.Hello(timeout(t)); err != nil || !reflect.DeepEqual(now, began) {
				t.Errorf("%+v, %v\nwas %+v", now, err, began)
			}
			if c, err := s.m.Agent.Clock(timeout(t), 10); err != nil || s.m.SharesClock() && c.Offset.Abs() > c.Delay {
				t.Errorf("its clock is not the host's: %+v, %v", c, err)
			}
			if _, err := os.Stat(atSave); err == nil {
				t.Errorf("%s is still there", atSave)
			}
			if err := s.m.Freeze(timeout(t)); err != nil {
				t.Fatal(err)
			}
			if err := s.m.Thaw(timeout(t)); err != nil {
				t.Fatal(err)
			}
		}
		if s.m.Site.Port != nil {
			listenOnHost(t, h, s.m.HostAddress(), s.exchanged())
			s.fetch(t, s.m.HostAddress(), s.m.Address())
		}
	})
	t.Run("boots", func(t *testing.T) {
		m := launch(t, anew{d}, h, "anew", Request())
		if _, err := m.Save(timeout(t)); err != nil {
			t.Fatal(err)
		}
		err := m.Restore(timeout(t))
		if fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), "started anew") {
			t.Errorf("%v", err)
		}
	})
	t.Run("spoilt", func(t *testing.T) {
		m := launch(t, d, h, "spoilt", Request())
		saved, err := m.Save(timeout(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range saved.Files {
			if err := os.Truncate(file, 100); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Restore(timeout(t)); fault.KindOf(err) != fault.Guest {
			t.Errorf("%v", err)
		}
	})
	nothingLeft(t, h, before)
}

// keep runs keepsNonce, calls do while it runs, and returns what it has printed.
func keep(t *testing.T, m *system.Machine, nonce string, do func()) string {
	t.Helper()
	id, ready := make(chan uint64, 1), make(chan bool, 1)
	type end struct {
		r   *agent.Result
		err error
	}
	ended := make(chan end, 1)
	go func() {
		r, err := m.Agent.Run(t.Context(), agent.Command{
			Argv: []string{"bash", "-c", keepsNonce}, Env: system.AgentEnv, Dir: m.DataDir(), Stdin: []byte(nonce + "\n"),
			OnStart: func(n uint64) { id <- n },
			OnOutput: func(_ bool, data []byte) {
				if bytes.Contains(data, []byte("ready")) {
					ready <- true
				}
			},
		})
		ended <- end{r, err}
	}()
	select {
	case <-ready:
	case e := <-ended:
		t.Fatalf("%+v, %v", e.r, e.err)
	case <-time.After(time.Minute):
		t.Fatal("the program is not ready")
	}
	do()
	if err := m.Agent.Signal(timeout(t), <-id, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-ended:
		if e.err != nil || e.r.ExitCode != 0 {
			t.Fatalf("%+v, %v", e.r, e.err)
		}
		return string(e.r.Stdout)
	case <-time.After(3 * time.Minute):
		t.Fatal("the program does not end")
	}
	return ""
}

// anew is a driver that starts a new guest instead of restoring the saved one.
type anew struct{ system.Driver }

func (d anew) Restore(ctx context.Context, s *system.Site, _ string) (system.Guest, error) {
	if err := os.RemoveAll(filepath.Join(s.Dir, "bundle")); err != nil {
		return nil, err
	}
	return d.Create(ctx, s)
}
