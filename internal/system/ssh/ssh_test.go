package ssh

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) {
	m := startSSHD(t)
	systemtest.Run(t, driver{m: m})
	if left := m.space(t); left != nil {
		t.Errorf("left on the machine: %q", left)
	}
}

func TestLoop(t *testing.T) { systemtest.Loop(t, driver{m: startSSHD(t)}) }

// agentPID finds the agent of a guest on this machine.
func agentPID(t *testing.T, dir string) int {
	t.Helper()
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		exe, _ := os.Readlink(p + "/exe")
		if pid := 0; strings.HasPrefix(exe, dir+"/") {
			for _, c := range filepath.Base(p) {
				pid = 10*pid + int(c-'0')
			}
			return pid
		}
	}
	t.Fatalf("no process runs from %s", dir)
	return 0
}

// TestRemoved: however a guest ends, it leaves nothing on the machine.
func TestRemoved(t *testing.T) {
	m := startSSHD(t)
	for name, end := range map[string]func(*testing.T, *system.Machine){
		"closed":       func(*testing.T, *system.Machine) {},
		"agent killed": func(t *testing.T, g *system.Machine) { unix.Kill(agentPID(t, g.Guest.(*guest).dir), unix.SIGKILL) },
		"agent hangs": func(t *testing.T, g *system.Machine) {
			unix.Kill(agentPID(t, g.Guest.(*guest).dir), unix.SIGSTOP)
			endTimeout = time.Second
			t.Cleanup(func() { endTimeout = closeTimeout })
		},
		"cut": func(_ *testing.T, g *system.Machine) { g.Guest.(*guest).Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			g := systemtest.Launch(t, driver{m: m}, "a", systemtest.Request())
			if got := m.space(t); len(got) != 1 || !strings.HasPrefix(got[0], "tare-") {
				t.Errorf("on the machine: %q", got)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := g.Agent.Run(context.Background(), agent.Command{Argv: []string{"sleep", "1000.125"}, Env: system.AgentEnv,
					Dir: g.DataDir()})
				ended <- err
			}()
			time.Sleep(100 * time.Millisecond)
			end(t, g)
			if name == "agent killed" || name == "cut" {
				if err := <-ended; fault.KindOf(err) != fault.Guest {
					t.Errorf("the command: %v", err)
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if left := m.space(t); left != nil {
				t.Errorf("left on the machine: %q", left)
			}
			for _, p := range commandLines("sleep\x001000.125") {
				t.Errorf("process %s still runs", p)
			}
		})
	}
}

// TestAbandoned: the guest is never closed, as when tare is killed.
func TestAbandoned(t *testing.T) {
	m := startSSHD(t)
	g := systemtest.Launch(t, driver{m: m}, "a", systemtest.Request())
	g.Guest.(*guest).Kill()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if m.space(t) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("left on the machine: %q", m.space(t))
}

func commandLines(with string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, _ := os.ReadFile(f); strings.Contains(string(b), with) {
			pids = append(pids, f)
		}
	}
	return pids
}

// TestRefusals: a failed login says how to fix it and leaves nothing behind.
func TestRefusals(t *testing.T) {
	m := startSSHD(t)
	in := func(name string) string { return filepath.Join(m.dir, name) }
	another := newKey(t, in("another"))
	address := "[127.0.0.1]:" + m.port
	write(t, in("changed"), []byte(knownhosts.Line([]string{address}, another)+"\n"))
	write(t, in("revoked"), []byte("@revoked "+strings.Replace(read(t, in("known")), address, "*", 1)))
	write(t, in("no-key"), []byte("nonsense"))
	for name, c := range map[string]struct {
		option, value string
		target        string
		kind          fault.Kind
		want          []string
	}{
		"unknown": {"known_hosts", in("none"), "", fault.Host, []string{"is not known", "ssh-ed25519 SHA256:",
			"ssh-keyscan -p " + m.port + " -t ed25519 127.0.0.1 >> " + in("none")}},
		"changed": {"known_hosts", in("changed"), "", fault.Host,
			[]string{"another one", in("changed") + ":1", "-R '" + address + "'"}},
		"revoked":   {"known_hosts", in("revoked"), "", fault.Host, []string{"revoked"}},
		"key":       {"key", in("another"), "", fault.Host, []string{"refuses the login", in("another"), "ssh-copy-id"}},
		"no key":    {"key", in("no-key"), "", fault.Campaign, []string{in("no-key")}},
		"password":  {"password_env", "TARE_NO_SUCH_VARIABLE", "", fault.Campaign, []string{"TARE_NO_SUCH_VARIABLE"}},
		"dir":       {"dir", in("nowhere"), "", fault.Host, []string{in("nowhere"), "mktemp"}},
		"relative":  {"dir", "space", "", fault.Campaign, []string{"absolute"}},
		"nobody":    {"", "", "ssh://127.0.0.1:1", fault.Host, []string{"cannot reach"}},
		"no target": {"", "", "127.0.0.1", fault.Campaign, []string{"ssh://USER@HOST"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := m.request(systemtest.Request())
			if c.target != "" {
				f.Target = c.target
			}
			f.Options[c.option] = c.value
			g, err := system.Launch(t.Context(), Driver{}, systemtest.Host(t), "a", f)
			if err == nil {
				g.Close()
				t.Fatal("it was let in")
			}
			text := err.Error() + fault.RemedyOf(err)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in: %s", want, text)
				}
			}
			if got := fault.KindOf(err); got != c.kind {
				t.Errorf("the %v's fault: %v", got, err)
			}
		})
	}
	if left := m.space(t); left != nil {
		t.Errorf("left on the machine: %q", left)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"ssh://root@host":         "ssh://root@host:22",
		"ssh://root@host:2222/":   "ssh://root@host:2222",
		"ssh://me@[2001:db8::1]":  "ssh://me@[2001:db8::1]:22",
		"ssh://host":              "ssh://@host:22",
		"ssh://root:secret@host":  "password",
		"ssh://root@host/etc":     "more than an address",
		"ssh://root@-oProxy=evil": "does not begin",
		"root@host":               "not an SSH address",
		"http://host":             "not an SSH address",
		"ssh:host":                "not an SSH address",
		"":                        "not an SSH address",
	} {
		got, err := parseTarget(text)
		if strings.HasPrefix(want, "ssh://") {
			if err != nil || got.String() != want {
				t.Errorf("%q: %v, %v, not %s", text, got, err, want)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") &&
			want == "" {
			t.Errorf("%q: %v, %v, not %s", text, got, err, want)
		}
	}
}

func TestFaults(t *testing.T) { systemtest.Faults(t, driver{m: startSSHD(t)}) }

// deaf is a connection whose sessions never open.
type deaf struct{ ssh.Conn }

func (deaf) OpenChannel(string, []byte) (ssh.Channel, <-chan *ssh.Request, error) { select {} }

// TestOpenWhileCut: nothing waits for a session of a connection that has ended.
func TestOpenWhileCut(t *testing.T) {
	l := &loggedIn{Client: &ssh.Client{Conn: deaf{}}, gone: make(chan struct{})}
	time.AfterFunc(time.Millisecond, func() { close(l.gone) })
	if s, err := l.open(); err == nil || fault.KindOf(err) != fault.Guest {
		t.Errorf("opened %v: %v", s, err)
	}
}
