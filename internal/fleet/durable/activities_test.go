package durable

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// idle is a Machine that does nothing, or what is replaced.
type idle struct {
	Machine
	boot    string
	reboots int
}

func (i *idle) Doctor(context.Context, []byte) (string, error) { return "{}", nil }
func (i *idle) Booted() (string, error)                        { return i.boot, nil }
func (i *idle) Reboot(context.Context, Task) error             { i.reboots++; return fault.Hostf("no GRUB") }
func (i *idle) Prepare(context.Context, Task) (string, error) {
	return "", fault.Campaignf("line 3: no such workload")
}
func (i *idle) RunFile(Task) string { return "/nonexistent" }
func (i *idle) Measure(context.Context, Task, func(Progress)) (Outcome, error) {
	return Outcome{}, fault.Hostf("no loop device")
}

// execute executes an activity of a machine node1 with build "b1".
func execute(t *testing.T, m Machine, task Task, name string) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent)
	env := suite.NewTestActivityEnvironment()
	a := &activities{name: "node1", build: "b1", machine: m}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(map[string]any{
		"Doctor": a.Doctor, "Report": a.Report, "Prepare": a.Prepare, "Measure": a.Measure, "Reboot": a.Reboot,
	}[name], task)
	return err
}

// TestErrorsOfActivities: errors say whose fault they are; another build of tare, and another
// machine, are refused for good.
func TestErrorsOfActivities(t *testing.T) {
	t.Parallel()
	mine := Task{Machine: "node1", Build: "b1"}
	for _, c := range []struct {
		activity string
		task     Task
		kind     string
		final    bool
		text     string
	}{
		{"Doctor", Task{Machine: "node1", Build: "b2"}, buildError, true, "install the same program on all machines"},
		{"Report", Task{Machine: "node1", Build: "b2"}, buildError, true, "another build of tare, b1"},
		{"Measure", Task{Machine: "node1", Build: "b2"}, buildError, true, "another build of tare, b1"},
		{"Doctor", Task{Machine: "node2", Build: "b1"}, campaignError, true, "node2 came to node1"},
		{"Prepare", mine, campaignError, true, "no such workload"},
		{"Measure", mine, hostError, false, "no loop device"},
		{"Doctor", mine, "", false, ""},
		{"Report", mine, "", false, ""},
	} {
		err := execute(t, &idle{}, c.task, c.activity)
		var app *temporal.ApplicationError
		if c.kind == "" && err == nil {
			continue
		}
		if !errors.As(err, &app) || app.Type() != c.kind || app.NonRetryable() != c.final ||
			!strings.Contains(app.Message(), c.text) {
			t.Errorf("%s of %+v: %v", c.activity, c.task, err)
		}
	}
}

// TestRebootOnce: the attempt in the boot after the reboot completes the activity.
func TestRebootOnce(t *testing.T) {
	t.Parallel()
	task := Task{Machine: "node1", Build: "b1", Boot: Boot{Name: "xen", Entry: "Xen", From: "first"}}
	m := &idle{boot: "first"}
	if err := execute(t, m, task, "Reboot"); err == nil || m.reboots != 1 {
		t.Errorf("%v after %d reboots", err, m.reboots)
	}
	m.boot = "second"
	if err := execute(t, m, task, "Reboot"); err != nil || m.reboots != 1 {
		t.Errorf("%v after %d reboots", err, m.reboots)
	}
}

// standIn is a program in the place of tare. A run lasts until there is a file "go", and ends in an
// orderly way at SIGTERM. Its run file is a copy of a real one.
const standIn = `#!/bin/sh
case "$*" in
*broken*) echo "tare: broken.yaml:3: no such workload" >&2; exit 2 ;;
"doctor --json") echo "{}"; exit ;;
"doctor --json -") [ "$(cat)" != bad ] || { echo "tare: no" >&2; exit 2; }; echo '{"refused": "lxc"}'; exit 2 ;;
*--dry-run*) exit ;;
esac
trap 'echo cancelled; exit 4' TERM
echo "$1" >>began
echo $$ >pid
while [ ! -s go ]; do sleep 0.02; done
echo "last line"
exit "$(cat go)"
`

// here is this machine with the stand-in, and the directory of a run that is prepared.
func here(t *testing.T) (*Here, Task, string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "tare")
	// A process that another test forks meanwhile would have the program open for writing, and it could not be executed.
	syscall.ForkLock.RLock()
	err := os.WriteFile(program, []byte(standIn), 0o755)
	syscall.ForkLock.RUnlock()
	must(t, err)
	h := &Here{Program: program, Dir: filepath.Join(dir, "work")}
	task := Task{Fleet: "racks", Run: "one", Machine: "node1", Build: "b1", Campaign: []byte("name: a\n")}
	prepared(t, h, task)
	return h, task, h.dir(task)
}

func prepared(t *testing.T, h *Here, task Task) {
	t.Helper()
	_, err := h.Prepare(t.Context(), task)
	must(t, err)
}

// until waits for something that must come.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("it never happens: " + what)
		}
	}
}

// free reports whether no process of a run is left.
func free(dir string) bool {
	return exec.Command("flock", "-n", filepath.Join(dir, "lock"), "true").Run() == nil
}

// measuring starts a Measure, and returns when tare has begun.
func measuring(ctx context.Context, t *testing.T, h *Here, task Task) <-chan error {
	t.Helper()
	os.Remove(filepath.Join(h.dir(task), "pid"))
	ended := make(chan error, 1)
	go func() {
		_, err := h.Measure(ctx, task, func(Progress) {})
		ended <- err
	}()
	until(t, "the run begins", func() bool {
		text, err := os.ReadFile(filepath.Join(h.dir(task), "pid"))
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	return ended
}

// TestHereCancelled: cancellation ends the run in an orderly way, and it can be resumed.
func TestHereCancelled(t *testing.T) {
	t.Parallel()
	h, task, dir := here(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := measuring(ctx, t, h, task)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	must(t, err)
	if !strings.Contains(string(log), "cancelled") {
		t.Errorf("the run was killed: %s", log)
	}
	// A process that another test has just forked has the lock, too, until it executes its program.
	until(t, "no process of the run is left", func() bool { return free(dir) })
}

// TestHereKilled: a run that dies is the host's fault, and an attempt waits until the one before is
// over: two never measure at once.
func TestHereKilled(t *testing.T) {
	t.Parallel()
	h, task, dir := here(t)
	first := measuring(t.Context(), t, h, task)
	second := make(chan error, 1)
	go func() {
		_, err := h.Measure(t.Context(), task, func(Progress) {})
		second <- err
	}()
	time.Sleep(300 * time.Millisecond)
	began, err := os.ReadFile(filepath.Join(dir, "began"))
	must(t, err)
	if string(began) != "run\n" {
		t.Errorf("two attempts at once: %q", began)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "pid")))
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	if err := <-first; fault.KindOf(err) != fault.Host {
		t.Error(err)
	}
	until(t, "the second attempt begins", func() bool {
		_, err := os.Stat(filepath.Join(dir, "pid"))
		return err == nil
	})
	must(t, os.WriteFile(filepath.Join(dir, "go.part"), []byte("3\n"), 0o600))
	must(t, os.Rename(filepath.Join(dir, "go.part"), filepath.Join(dir, "go")))
	if err := <-second; fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "last line") {
		t.Error(err)
	}
}

// TestHereRefuses: a run of another campaign, or of another build of tare, is not continued, and a
// campaign that cannot be run says why.
func TestHereRefuses(t *testing.T) {
	t.Parallel()
	h, task, _ := here(t)
	for campaign, want := range map[string]string{"": "{}\n", "c": `{"refused": "lxc"}` + "\n"} {
		text := []byte(campaign)
		if campaign == "" {
			text = nil
		}
		if report, err := h.Doctor(t.Context(), text); err != nil || report != want {
			t.Errorf("%q, %v, want %q", report, err, want)
		}
	}
	if report, err := h.Doctor(t.Context(), []byte("bad")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("%q, %v", report, err)
	}
	prepared(t, h, task)
	for text, change := range map[string]func(*Task){
		"another campaign":    func(t *Task) { t.Campaign = []byte("name: b\n") },
		"another build":       func(t *Task) { t.Build = "b2" },
		"3: no such workload": func(t *Task) { t.Run, t.Args = "two", []string{"broken"} },
	} {
		other := task
		change(&other)
		_, err := h.Prepare(t.Context(), other)
		if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestHereImports: the image of a run comes before the campaign is tried, and an import that fails is its fault; a
// machine that keeps another build of the image says so.
func TestHereImports(t *testing.T) {
	t.Parallel()
	h, task, _ := here(t)
	task.Image = "id"
	for _, c := range []struct {
		same bool
		err  error
		note string
	}{{true, nil, ""}, {false, nil, "versions of packages may differ"}, {false, fault.Hostf("no collector"), ""}} {
		h.Import = func(_ context.Context, id string) (bool, error) {
			if id != "id" {
				t.Errorf("image %q", id)
			}
			return c.same, c.err
		}
		note, err := h.Prepare(t.Context(), task)
		if !errors.Is(err, c.err) || !strings.Contains(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%+v: %q, %v", c, note, err)
		}
	}
}

// TestHereProgress: the end of a run says how far its file is, and what tare said last.
func TestHereProgress(t *testing.T) {
	t.Parallel()
	h, task, dir := here(t)
	run, err := store.Create(h.RunFile(task), map[string][]byte{store.DocCampaign: []byte("{}")},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}}, nil)
	must(t, err)
	session, err := run.BeginSession("boot", "1")
	must(t, err)
	for block, status := range []store.Status{store.Done, store.Failed, store.Void} {
		id, err := run.Begin(store.Attempt{Session: session, Block: block, Workload: "cpu"})
		must(t, err)
		must(t, run.Finish(id, store.Outcome{Status: status}))
	}
	must(t, run.Close())
	must(t, os.WriteFile(filepath.Join(dir, "go"), []byte("0\n"), 0o600))
	var last Progress
	out, err := h.Measure(t.Context(), task, func(p Progress) { last = p })
	want := Progress{Trials: 2, Block: 3, Attempts: 3, Log: "last line"}
	if err != nil || last != want || out.Trials != 2 {
		t.Errorf("%+v, want %+v; %+v, %v", last, want, out, err)
	}
}
