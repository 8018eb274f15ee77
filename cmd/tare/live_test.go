package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const capCampaign = `
name: cap
seed: 5
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 64MiB}
  quarter: {vcpus: 1, memory: 256MiB, disk: 64MiB, cpu_cap: 25%}
arms:
  - {system: native, flavor: one}
  - {name: lxc-quarter, system: lxc, flavor: quarter}
workloads: [sysbench-cpu]
trial_time: 500ms
blocks: 5
allow_unequal: true
`

// TestCap: a quarter of a CPU makes CPU work take about four times as long, or as the guests' shares of CPU time say,
// and there is no claim about the control.
func TestCap(t *testing.T) {
	live(t)
	dir := t.TempDir()
	write(t, dir, "cap.yaml", capCampaign)
	r := tare(t, dir, "run", "--yes", "cap.yaml", "--out", "cap.tare")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, want := range []string{"What each costs against native",
		"single trials of native and its identical control differ", "lxc-quarter", "CPU time"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the table has no %q:\n%s", want, r.stdout)
		}
	}
	e := exported(t, filepath.Join(dir, "cap.tare"))
	// Native may share its CPU with other work on this host and take longer; but the cap allows at most a quarter of the
	// elapsed time.
	least, most := map[string]float64{}, map[string]float64{} // shares of a CPU, by arm
	for _, trial := range e.Trials {
		if trial.Status != "done" || trial.Metrics["time"] <= 0 || trial.Probes["guest_cgroup_cpu"] <= 0 {
			t.Errorf("trial %+v", trial)
		}
		share := trial.Probes["guest_cgroup_cpu"] / trial.Metrics["time"]
		if _, more := least[trial.Arm]; !more {
			least[trial.Arm] = share
		}
		least[trial.Arm], most[trial.Arm] = min(least[trial.Arm], share), max(most[trial.Arm], share)
	}
	if most["lxc-quarter"] > 0.35 {
		t.Errorf("capped at a quarter of a CPU, the guest used %.2f", most["lxc-quarter"])
	}
	costs := 0.6 * least["native"] / most["lxc-quarter"] // at least
	for _, c := range e.Comparisons {
		if c.Metric != "time" {
			continue
		}
		switch {
		case c.Control && (c.Verdict == "costs" || c.Verdict == "gains"):
			t.Errorf("the control is a claim: %+v", c)
		case c.Arm == "lxc-quarter" && c.Ratio < costs:
			t.Errorf("a quarter of a CPU costs %.2f times, not %.2f or more", c.Ratio, costs)
		}
	}
	nothingLeft(t)
}

// killCampaign has 3 arms and the control, 2 workloads and 3 blocks: 24 trials.
const killCampaign = `
name: kill
seed: 11
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 128MiB}
arms: [native, lxc, runc]
workloads:
  - {name: sysbench-cpu, size: 150}
  - {name: dd-write, size: 64}
blocks: 3
recreate_every: 1
`

// TestKillResume kills a run at random moments, one of its processes at
// random, and resumes it: in the end every trial is there once, and nothing is
// left on the host.
func TestKillResume(t *testing.T) {
	live(t)
	t.Logf("%d kills", killAndResume(t, 20))
	nothingLeft(t)
}

// othersMeasure is in the error of a tare that would measure beside another.
const othersMeasure = "another tare measures"

// alone is tare, again and again while another one measures on this host.
func alone(t *testing.T, dir string, args ...string) result {
	t.Helper()
	for {
		r := tare(t, dir, args...)
		if r.status != exitHost || !strings.Contains(r.stderr, othersMeasure) {
			return r
		}
		time.Sleep(time.Second)
	}
}

// killAndResume makes a run, kills it until it is complete or there were that many
// kills, and then completes it. It returns the number of kills.
func killAndResume(t *testing.T, most int) (kills int) {
	t.Helper()
	dir := t.TempDir()
	run := filepath.Join(dir, "kill.tare")
	args := []string{"run", "--yes", write(t, dir, "kill.yaml", killCampaign), "--out", run}
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	complete := false
	for kills < most && !complete {
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if strings.Contains(out.String(), othersMeasure) {
				time.Sleep(time.Second)
				continue
			}
			if err != nil && !strings.Contains(out.String(), "there is no such run") {
				t.Fatalf("%v: %v\n%s", args, err, out.String())
			}
			if err == nil {
				complete = true
			}
		case <-time.After(time.Duration(50+random.IntN(2500)) * time.Millisecond):
			// The outer process, process 1 or the inner one; sometimes a guest's.
			pids := descendants(cmd.Process.Pid)
			victim := pids[random.IntN(min(len(pids), 3))]
			kill9(victim)
			<-ended
			kills++
		}
		// A kill before the file exists leaves nothing to resume.
		if r := tare(t, dir, "show", run); r.status == 0 {
			args = []string{"resume", "--yes", run}
		} else if !strings.Contains(r.stderr, "no such run") && !strings.Contains(r.stderr, "is empty") &&
			!strings.Contains(r.stderr, "not a run of tare") {
			t.Fatalf("show: status %d\n%s", r.status, r.stderr)
		} else if args[0] == "run" {
			run = filepath.Join(dir, fmt.Sprintf("kill%d.tare", kills))
			args[len(args)-1] = run
		}
	}
	if r := alone(t, dir, args...); r.status != 0 {
		t.Fatalf("the last time: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	count, duets := map[string]int{}, map[string]int{}
	for _, trial := range exported(t, run).Trials {
		switch trial.Status {
		case "duet":
			duets[fmt.Sprint(trial.Block, trial.Workload, trial.Arm)]++
		case "done":
			count[fmt.Sprint(trial.Block, trial.Workload, trial.Arm)]++
		case "interrupted":
		default:
			t.Errorf("trial %+v", trial)
		}
	}
	for what, n := range duets {
		if n != 1 {
			t.Errorf("%s is in %d duets", what, n)
		}
	}
	for block := range 3 {
		for _, w := range []string{"sysbench-cpu", "dd-write"} {
			for _, arm := range []string{"native", "lxc", "runc", "native-control"} {
				if n := count[fmt.Sprint(block, w, arm)]; n != 1 {
					t.Errorf("block %d, %s on %s is there %d times", block, w, arm, n)
				}
			}
		}
	}
	if len(count) != 24 {
		t.Errorf("%d trials, want 24", len(count))
	}
	return kills
}

// TestInterrupt: Ctrl-C shows the results so far, and leaves a run that can be resumed
// but nothing on the host; meanwhile, a second tare is refused.
func TestInterrupt(t *testing.T) {
	live(t)
	dir := t.TempDir()
	run := filepath.Join(dir, "int.tare")
	file := write(t, dir, "int.yaml", strings.Replace(killCampaign, "blocks: 3", "blocks: 1000", 1))
	cmd := exec.Command(binary, "run", "--yes", file, "--out", run)
	// As from a terminal: the signal goes to the whole process group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if e := tare(t, dir, "show", run); e.status == 0 &&
			strings.Contains(e.stdout, "of native and its identical control") {
			break
		}
		if time.Since(begin) > 3*time.Minute {
			t.Fatalf("no block was done:\n%s", out.String())
		}
	}
	second := tare(t, dir, "run", "--yes", file, "--out", filepath.Join(dir, "second.tare"))
	if second.status != exitHost || !strings.Contains(second.stderr, "another tare measures") {
		t.Errorf("a second tare: status %d: %s", second.status, second.stderr)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != exitIncomplete || !strings.Contains(out.String(), "tare resume") {
		t.Errorf("status %d\n%s", cmd.ProcessState.ExitCode(), out.String())
	}
	for _, trial := range exported(t, run).Trials {
		if trial.Status == "failed" {
			t.Errorf("the signal reached a guest: %+v", trial)
		}
	}
	nothingLeft(t)
}
