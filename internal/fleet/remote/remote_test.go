package remote

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/porttest"
)

// standIn is a program in the place of tare: a run lasts until there is a file "go", and ends in an
// orderly way at SIGTERM.
const standIn = `#!/bin/sh
trap 'echo "cancelled"; exit 4' TERM
case $1 in
doctor) case "$*$(cat)" in
	*bad) echo "no such flag" >&2; exit 2 ;;
	*"- c") echo "$* refuses c"; exit 2 ;;
	*) echo "$*"; exit ;;
	esac ;;
run) case " $* " in
	*" --resume "*) echo "resumed" >>run.tare ;;
	*) echo "$*" >run.tare; cat campaign.yaml >>run.tare ;;
	esac ;;
esac
echo "began $1"
while [ ! -s go ]; do sleep 0.02; done
echo "trial 7"
exit "$(cat go)"
`

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
}

// machine is a real sshd on loopback, which ends with the test; logging in leads to this machine.
func machine(t *testing.T) Host {
	t.Helper()
	const program = "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("openssh-server is not installed")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"host", "user"} {
		cmd := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", in(name))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	port := porttest.Free(t)
	key, err := os.ReadFile(in("host.pub"))
	must(t, err)
	write(t, in("known"), "[127.0.0.1]:"+port+" "+string(key), 0o600)
	write(t, in("sshd"), fmt.Sprintf("ListenAddress 127.0.0.1:%s\nHostKey %s\nAuthorizedKeysFile %s\n"+
		"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"+
		"KexAlgorithms curve25519-sha256\n", port, in("host"), in("user.pub")), 0o600)
	me, err := user.Current()
	must(t, err)
	write(t, in("ssh"), fmt.Sprintf("Host node\n  HostName 127.0.0.1\n  Port %s\n  User %s\n  IdentityFile %s\n"+
		"  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n",
		port, me.Username, in("user"), in("known")), 0o600)
	var log bytes.Buffer
	cmd := exec.Command(program, "-D", "-e", "-f", in("sshd"))
	if os.Getuid() == 0 { // sshd requires /run/sshd, which other tests make and remove
		cmd = exec.Command("sh", append([]string{"-c", `mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"`, "sh"},
			cmd.Args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	cmd.Stderr = &log
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("sshd:\n%s", log.Bytes())
		}
	})
	h := Host{Destination: "node", Config: in("ssh"), Dir: in("it's here")}
	until(t, "sshd comes up", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return h
}

// until waits for something that must come.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("it never happens: " + what)
		}
	}
}

// installed is a machine with the program that stands in for tare.
func installed(t *testing.T) (Host, Program) {
	t.Helper()
	h := machine(t)
	path := filepath.Join(t.TempDir(), "tare")
	write(t, path, standIn, 0o755)
	p, err := ProgramAt(path)
	must(t, err)
	must(t, h.Install(t.Context(), p))
	t.Cleanup(func() { // no run outlives the test
		runs, _ := filepath.Glob(h.Dir + "/runs/*")
		for _, r := range runs {
			os.WriteFile(r+"/go", []byte("0"), 0o600)
			until(t, "the run ends", func() bool { return free(r) })
		}
	})
	return h, p
}

// free reports whether no process of a run is left.
func free(run string) bool { return exec.Command("flock", "-n", run+"/lock", "true").Run() == nil }

func state(t *testing.T, h Host, name string) Status {
	t.Helper()
	s, err := h.Status(t.Context(), name)
	must(t, err)
	return s
}

// TestDoctor: the report of a machine that cannot measure the campaign is a report; otherwise, a failure is one.
func TestDoctor(t *testing.T) {
	t.Parallel()
	h, p := installed(t)
	for campaign, want := range map[string]string{"": "doctor --json", " c": "doctor --json - refuses c"} {
		text := []byte(campaign)
		if campaign == "" {
			text = nil
		}
		if out, err := h.Doctor(t.Context(), p, text); err != nil || strings.TrimSpace(out) != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
	}
	if out, err := h.Doctor(t.Context(), p, []byte("bad")); err == nil || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestInstall: a program is copied once, whole or not at all.
func TestInstall(t *testing.T) {
	t.Parallel()
	h, p := installed(t)
	there := h.program(p)
	first, err := os.Stat(there)
	must(t, err)
	must(t, h.Install(t.Context(), p))
	if again, err := os.Stat(there); err != nil || !os.SameFile(first, again) {
		t.Errorf("it was copied again: %v", err)
	}
	write(t, there, "damaged", 0o700)
	must(t, h.Install(t.Context(), p))
	if out, err := h.script(t.Context(), nil, `echo "$1"`, "it's $HOME"); err != nil || out != "it's $HOME\n" {
		t.Errorf("%q, %v", out, err)
	}
	wrong := Program{p.Path, strings.Repeat("0", 64)}
	if err := h.Install(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "arrived damaged") {
		t.Errorf("of another hash: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Dir(there)); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

// TestRun: a run goes on without a connection, is started once however often that is asked for, and
// its file arrives unchanged.
func TestRun(t *testing.T) {
	t.Parallel()
	h, p := installed(t)
	if s := state(t, h, "web"); s.State != Absent {
		t.Errorf("before: %+v", s)
	}
	campaign := []byte("name: web # it's\n")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := h.Start(t.Context(), p, "web", campaign, "--budget", "30m"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s := state(t, h, "web"); s.State != Running || s.Over() || s.Resumable() {
		t.Errorf("%+v", s)
	}
	to := filepath.Join(t.TempDir(), "node", "web.tare")
	if _, err := h.Fetch(t.Context(), "web", to); err == nil || !strings.Contains(err.Error(), "not over") {
		t.Errorf("fetched while it runs: %v", err)
	}
	if _, err := h.Start(t.Context(), p, "web", []byte("name: other\n")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("another campaign: %v", err)
	}
	write(t, h.run("web")+"/go", "0", 0o600)
	until(t, "the run ends", func() bool { return free(h.run("web")) })
	if s := state(t, h, "web"); s.State != Ended || s.Code != 0 || s.Log != "trial 7" || s.Resumable() {
		t.Errorf("%+v", s)
	}
	if log, err := os.ReadFile(h.run("web") + "/log"); err != nil || strings.Count(string(log), "began") != 1 {
		t.Errorf("it was started more than once: %q, %v", log, err)
	}
	for _, want := range []bool{true, false} {
		if got, err := h.Fetch(t.Context(), "web", to); err != nil || got != want {
			t.Errorf("fetched: %v, %v", got, err)
		}
	}
	got, err := os.ReadFile(to)
	want := "run campaign.yaml --out run.tare --yes --budget 30m\n" + string(campaign)
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(to)); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

// TestCancelResume: a run that was cancelled, or killed at any moment, goes on.
func TestCancelResume(t *testing.T) {
	t.Parallel()
	h, p := installed(t)
	campaign := []byte("name: web\n")
	if s, err := h.Resume(t.Context(), "web", campaign); err != nil || s.State != Absent {
		t.Errorf("resumed what was never started: %+v, %v", s, err)
	}
	_, err := h.Start(t.Context(), p, "web", campaign)
	must(t, err)
	began := func(n int) func() bool {
		return func() bool {
			log, _ := os.ReadFile(h.run("web") + "/log")
			return strings.Count(string(log), "began") == n
		}
	}
	until(t, "it begins", began(1))
	s, err := h.Cancel(t.Context(), "web")
	if err != nil || s.State != Ended || s.Code != 4 || !s.Resumable() || s.Log != "cancelled" {
		t.Fatalf("cancelled: %+v, %v", s, err)
	}
	_, err = h.Resume(t.Context(), "web", campaign)
	must(t, err)
	until(t, "it goes on", began(2))

	text, err := os.ReadFile(h.run("web") + "/pid")
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	group, err := syscall.Getpgid(pid)
	must(t, err)
	must(t, syscall.Kill(-group, syscall.SIGKILL))
	until(t, "it is gone", func() bool { return free(h.run("web")) })
	if s := state(t, h, "web"); s.State != Interrupted || !s.Resumable() {
		t.Errorf("killed: %+v", s)
	}
	if s, err := h.Start(t.Context(), p, "web", campaign); err != nil || s.State != Interrupted {
		t.Errorf("started again: %+v, %v", s, err)
	}
	log, err := os.ReadFile(h.run("web") + "/log")
	if err != nil || !strings.Contains(string(log), "cancelled\nresumed\n") {
		t.Errorf("resumed, but its last words are those of its end: %q, %v", log, err)
	}
	for _, code := range []int{fault.ExitHost, fault.ExitCampaign, fault.ExitFailed} {
		write(t, h.run("web")+"/go", strconv.Itoa(code), 0o600)
		_, err = h.Resume(t.Context(), "web", campaign)
		must(t, err)
		until(t, "it ends", func() bool { return free(h.run("web")) })
		if s := state(t, h, "web"); s.State != Ended || s.Code != code || s.Resumable() != (code != fault.ExitFailed) {
			t.Errorf("%+v", s)
		}
	}
	got, err := os.ReadFile(h.run("web") + "/run.tare")
	if err != nil || strings.Count(string(got), "resumed") != 4 {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCorrected: a run that has measured nothing begins again with another campaign; its errors are shown whole,
// without the output of other programs. Other runs are left as they are.
func TestCorrected(t *testing.T) {
	t.Parallel()
	h, p := installed(t)
	at := h.run("web")
	ended := func(campaign, code string) Status {
		t.Helper()
		write(t, at+"/go", code, 0o600)
		_, err := h.Start(t.Context(), p, "web", []byte(campaign))
		must(t, err)
		until(t, "it ends", func() bool { return free(at) })
		return state(t, h, "web")
	}
	must(t, os.MkdirAll(at, 0o700))
	ended("name: wrong\n", "2")
	write(t, at+"/log", "tare: earlier\ntare: c.yaml:1:2: no a\n    1 | a\n      | ^\nc.yaml:2:2: no b\n"+
		"  its last lines:\n    E: build\n  to fix: c\n", 0o600)
	if s := state(t, h, "web"); s.Code != 2 || s.Log != "tare: c.yaml:1:2: no a\nc.yaml:2:2: no b\n  to fix: c" {
		t.Errorf("%+v", s)
	}
	if _, err := h.Start(t.Context(), p, "web", []byte("name: right\n")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("a run that has a file: %v", err)
	}
	must(t, os.Remove(at+"/run.tare"))
	if _, err := h.Resume(t.Context(), "web", []byte("name: right\n")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("resumed: %v", err)
	}
	if s := ended("name: right\n", "0"); !s.Complete() {
		t.Errorf("%+v", s)
	}
	if got, err := os.ReadFile(at + "/run.tare"); err != nil || !strings.HasSuffix(string(got), "name: right\n") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRefused: without a known host key, tare does not log in; the error says so and is the host's.
func TestRefused(t *testing.T) {
	t.Parallel()
	h := machine(t)
	text, err := os.ReadFile(h.Config)
	must(t, err)
	unknown := filepath.Join(t.TempDir(), "ssh")
	write(t, unknown, strings.Replace(string(text), "UserKnownHostsFile ", "UserKnownHostsFile /dev/null #", 1), 0o600)
	h.Config = unknown
	_, err = h.Status(t.Context(), "web")
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "Host key verification failed") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Status(ctx, "web"); err == nil {
		t.Error("no error although it was cancelled")
	}
}
