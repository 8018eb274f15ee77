package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/clitest"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/mounttest"
)

// binary is the real program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	mounttest.Enter()
	clitest.Main(m, ".", &binary)
}

// live skips a test that needs guests if there can be none.
func live(t *testing.T) {
	t.Helper()
	why := ""
	if os.Getuid() != 0 {
		why = "guests need root"
	} else if _, err := image.Open(filepath.Join(defaultStateDir(), "images")); err != nil {
		why = err.Error()
	} else if l, err := cgroup.Detect(); err != nil || l.Check() != nil {
		why = "no control groups"
	}
	if why == "" {
		return
	}
	if os.Getenv("TARE_LIVE") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// result is how the program ended.
type result struct {
	status         int
	stdout, stderr string
}

// tare runs the program in a directory.
func tare(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return tareWithin(t, 9*time.Minute, dir, args...)
}

// tareWithin is tare with another time limit.
func tareWithin(t *testing.T, limit time.Duration, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// write makes a file in a directory and returns its name.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// export is the part of the JSON export that tests read.
type export struct {
	Version     int `json:"tare_export"`
	Comparisons []struct {
		Workload, Metric, Unit, Better, Baseline, Arm, Verdict string
		N                                                      int
		Ratio                                                  float64
		CILow                                                  float64 `json:"ci_low"`
		CIHigh                                                 float64 `json:"ci_high"`
		Overhead                                               float64 `json:"overhead_percent"`
		Control, Primary                                       bool
		BaselineMin                                            float64 `json:"baseline_min"`
	}
	Arms []struct {
		Arm, Workload string
		Metrics       []struct {
			Name   string
			Median float64
		}
	}
	Isolation []struct {
		Arm, Metric             string
		Guests                  int
		Ratio, Jain, Unfairness float64
		SkewP99                 float64 `json:"skew_p99"`
		SkewMax                 float64 `json:"skew_max"`
	}
	Memory []struct {
		Arm, Flavor string
		Start       struct{ Min float64 }
		Idle        struct{ Min, Max float64 } `json:"idle_pss"`
		After       struct{ Min, Max float64 } `json:"after_pss"`
	}
	Trials []trialExport
}

// trialExport is a trial in an export.
type trialExport struct {
	Block         int
	Workload, Arm string
	Status        string
	Metrics       map[string]float64
	Probes        map[string]float64
	Member        int
	Error         string
	Role          string `json:"stress"`
}

func exported(t *testing.T, run string) export {
	t.Helper()
	r := tare(t, t.TempDir(), "export", run, "--format", "json")
	if r.status != 0 {
		t.Fatalf("export: status %d: %s", r.status, r.stderr)
	}
	var e export
	if err := json.Unmarshal([]byte(r.stdout), &e); err != nil {
		t.Fatalf("export is not JSON: %v", err)
	}
	// Warm-ups, repeats, and void trials of a busy host are not results.
	e.Trials = slices.DeleteFunc(e.Trials, func(trial trialExport) bool {
		return trial.Status == "discarded" || trial.Status == "repeat" || trial.Status == "void"
	})
	return e
}

// nothingLeft checks that no tare has left anything on the host.
func nothingLeft(t *testing.T) {
	t.Helper()
	nothingToCollect(t, func() string {
		r := tare(t, t.TempDir(), "gc", "--dry-run")
		return r.stdout + r.stderr
	})
	// Nothing of this test's binary may run any more, once the kernel has ended what was killed.
	running := ours()
	for begin := time.Now(); len(running) > 0 && time.Since(begin) < time.Minute; running = ours() {
		time.Sleep(50 * time.Millisecond)
	}
	if len(running) > 0 {
		t.Errorf("still running: %v", running)
	}
	loops := loopsLeft()
	for begin := time.Now(); len(loops) > 0 && time.Since(begin) < time.Minute; loops = loopsLeft() {
		time.Sleep(50 * time.Millisecond)
	}
	if len(loops) > 0 {
		t.Errorf("loop devices left: %q", loops)
	}
	if b, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(b), filepath.Join(defaultStateDir(), "private")) {
		t.Errorf("mount left:\n%s", b)
	}
}

// loopsLeft lists the loop devices over data volumes whose directory is gone. The guests of other tests have theirs in
// directories that are still there; after one, the kernel may need a moment to detach them.
func loopsLeft() (left []string) {
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		b, _ := os.ReadFile(l)
		volumes := filepath.Dir(string(b))
		if !strings.HasPrefix(volumes, filepath.Join(defaultStateDir(), "volumes", "r")) {
			continue
		}
		if _, err := os.Stat(volumes); err != nil {
			left = append(left, l+" "+string(b))
		}
	}
	return left
}

// nothingToCollect fails if tare gc --dry-run always lists something. Other tares of this host may be between their
// death and their clean-up.
func nothingToCollect(t *testing.T, gc func() string) {
	t.Helper()
	left := gc()
	for begin := time.Now(); left != "" && time.Since(begin) < 2*time.Minute; left = gc() {
		time.Sleep(time.Second)
	}
	if left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// ours lists the processes of this test's binary.
func ours() (running []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, p := range procs {
		if exe, err := os.Readlink(p); err == nil && strings.HasPrefix(exe, binary) {
			running = append(running, p)
		}
	}
	return running
}

// descendants lists a process and those below it, outermost first.
func descendants(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, c := range tasks {
			b, _ := os.ReadFile(c)
			for _, word := range strings.Fields(string(b)) {
				var child int
				if _, err := fmt.Sscan(word, &child); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids
}

func kill9(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// asNobody runs the program without root privileges.
func asNobody(t *testing.T, args ...string) result {
	t.Helper()
	// Only root can read the binary's directory.
	dir, err := os.MkdirTemp("/tmp", "tare-nobody-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "tare"), b, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "tare"), args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
