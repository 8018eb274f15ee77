package watch

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// TestSince: who gets what, of processes that begin, end, and end while their
// parents go on.
func TestSince(t *testing.T) {
	const kernel = true
	at := func(second int, procs map[int]procfs.Process) ProcessTimes {
		return ProcessTimes{at: time.Duration(second) * time.Second, self: 102, procs: procs}
	}
	p := func(name string, parent int, seconds, reaped float64, start uint64, of ...bool) procfs.Process {
		return procfs.Process{Name: name, Seconds: seconds, Reaped: reaped, Parent: parent, Start: start, Kernel: len(of) > 0}
	}
	before := at(100, map[int]procfs.Process{
		1:   p("init", 0, 5, 1000, 1),
		2:   p("kthreadd", 0, 0, 0, 1, kernel),
		3:   p("kworker/0:1", 2, 7, 0, 2, kernel),
		4:   p("kworker/1:0", 2, 1, 0, 2, kernel),
		5:   p("ksmd", 2, 1, 0, 2, kernel),
		10:  p("idle", 1, 50, 0, 9),
		11:  p("make", 1, 1, 20, 9),
		12:  p("gcc", 11, 0, 0, 9),      // ends, as does its child
		13:  p("cc1", 12, 3, 0, 9),      // of whose time 1 s is to come
		14:  p("daemon", 1, 9000, 0, 3), // ends, and had used much before
		15:  p("first", 1, 60, 0, 3),    // ends, and its number is given to another
		100: p("tare", 99, 0, 500, 50),
		101: p("tare", 100, 0, 600, 50),
		102: p("tare", 101, 10, 700, 50),
		99:  p("sh", 1, 1, 0, 40),
	})
	after := at(110, map[int]procfs.Process{
		1:   p("init", 0, 5, 10060.5, 1),
		2:   p("kthreadd", 0, 0, 0, 1, kernel),
		3:   p("kworker/0:1", 2, 9, 0, 2, kernel),
		4:   p("kworker/1:0-events", 2, 2, 0, 2, kernel),
		5:   p("ksmd", 2, 11, 0, 2, kernel),
		10:  p("idle", 1, 50, 0, 9),
		11:  p("make", 1, 2, 20+3+1+5, 9), // cc1's 4 s, and 5 s of others
		15:  p("second", 1, 4, 0, 900),
		16:  p("new", 99, 1, 1, 901),
		100: p("tare", 99, 0, 500, 50),
		101: p("tare", 100, 0, 650, 50),
		102: p("tare", 101, 15, 750, 50),
		99:  p("sh", 1, 2, 0, 40),
	})
	var got []string
	for _, u := range after.Since(before) {
		got = append(got, fmt.Sprintf("%s %d %.2f", u.Name, u.PID, u.CPUs))
	}
	// init has what daemon and first used before, 9060 s, and half a second of them.
	want := []string{"ksmd 0 1.00", "make 11 0.70", "second 15 0.40", "kworker 0 0.30", "new 16 0.20", "sh 99 0.10",
		"init 1 0.05"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, u := range after.Since(before)[:1] {
		if u.Name != "ksmd" {
			t.Errorf("%s comes first", u.Name)
		}
	}
	if u := before.Since(before); u != nil {
		t.Errorf("in no time: %v", u)
	}
	after.procs[1] = p("init", 0, 5, 1e9, 1) // of a process that was not its child before
	for _, u := range after.Since(before) {
		if u.Name == "init" && (u.CPUs > 1024 || math.IsNaN(u.CPUs)) {
			t.Errorf("init used %v CPUs", u.CPUs)
		}
	}
}

// TestProcessTimesLive: a busy child is found, and this program is not.
func TestProcessTimesLive(t *testing.T) {
	begin, err := ReadProcessTimes("/proc")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		now, err := ReadProcessTimes("/proc")
		if err != nil {
			t.Fatal(err)
		}
		used := now.Since(begin)
		if slices.ContainsFunc(used, func(u ProcessUse) bool { return u.PID == os.Getpid() }) {
			t.Fatalf("this program is among the others: %v", used)
		}
		i := slices.IndexFunc(used, func(u ProcessUse) bool { return u.PID == cmd.Process.Pid })
		if i >= 0 && used[i].Name == "sh" && used[i].CPUs > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the busy child is not among %v", used)
		}
	}
	groups := ControlGroups("/proc", cmd.Process.Pid)
	if len(groups) == 0 || !filepath.IsAbs(groups[0]) {
		t.Errorf("control groups %q", groups)
	}
	if got := ControlGroups("/proc", -1); got != nil {
		t.Errorf("nobody's control groups: %q", got)
	}
}

func BenchmarkReadProcessTimes(b *testing.B) {
	t, err := ReadProcessTimes("/proc")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if _, err := ReadProcessTimes("/proc"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(t.procs)), "processes")
}
