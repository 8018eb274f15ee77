package host

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

func TestParseStat(t *testing.T) {
	st, err := parseStat("cpu  100 1 20 3000 40 5 6 7 8 9 77\ncpu0 50 0 10 1500 20 2 3 4 0 0\ncpu7 1 2 3 4 5 6 7 8\nintr 1 2 3\nprocs_running 3\n")
	if err != nil {
		t.Fatal(err)
	}
	want := CPUTime{1, 0.01, 0.2, 30, 0.4, 0.05, 0.06, 0.07, 0.08, 0.09}
	if st.total != want || st.running != 3 || len(st.perCPU) != 2 || st.perCPU[7].Steal != 0.08 {
		t.Errorf("%+v", st)
	}
	if b := st.total.Busy(); math.Abs(b-1.32) > 1e-9 {
		t.Errorf("busy %v: guest time must not count twice", b)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4", "cpu 1 2 3 4 5 6 7 x", "cpu 1 2 3 4 5 6 7 -8"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if d := (CPUTime{Idle: 1, User: 5}).Sub(CPUTime{Idle: 2, User: 3}); d.Idle != 0 || d.User != 2 {
		t.Errorf("a counter that ran backwards: %+v", d)
	}
}

func TestParseProcStat(t *testing.T) {
	p, err := parseProcStat("42 (a) (b c) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9 11 20 0 1 0 5 6 7")
	if want := (procTime{name: "a) (b c", seconds: 2, reaped: 0.2, parent: 1, start: 5}); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = parseProcStat("2 (kworker/0:1-mm) I 2 0 0 0 -1 69238880 0 0 0 0 0 7 0 0 20 0 1 0 12 0 0")
	if want := (procTime{name: "kworker/0:1-mm", seconds: 0.07, parent: 2, start: 12, kernel: true}); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := parseProcStat("42 (a) S 1 42 42 0 -1 0 100 0 0 0 150 50 9 11 20 0 1 0"); err == nil {
		t.Error("one without a start is accepted")
	}
}

func TestTakeSample(t *testing.T) {
	root := fstest.MapFS{}
	set := func(stat, vmstat, self, other string, nvme, timer int) {
		root["proc/interrupts"] = &fstest.MapFile{Data: fmt.Appendf(nil, "      CPU0   CPU1\n  9: 7 %d PCI-MSI 5-edge nvme0q1\n 10: 0 %d GICv3 27 Level arch_timer\nLOC: %[2]d 0 Local timer\n", nvme, timer)}
		root["proc/stat"] = &fstest.MapFile{Data: []byte(stat)}
		root["proc/vmstat"] = &fstest.MapFile{Data: []byte(vmstat)}
		root["run/host-proc/10/stat"] = &fstest.MapFile{Data: []byte("10 (tare) S 1 1 1 0 0 0 0 0 0 0 " + self + " 0 0 0 0 0 0 1")}
		root["run/host-proc/20/stat"] = &fstest.MapFile{Data: []byte("20 (cc) R 1 1 1 0 0 0 0 0 0 0 " + other + " 0 0 0 0 0 0 1")}
	}
	set("cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\nprocs_running 1\n", "pswpin 5\npswpout 0\n", "0 0", "0 0", 100, 100)
	now, waits := time.Duration(0), 0
	wait := func(d time.Duration) error {
		now += d
		if waits++; waits == 10 {
			set("cpu 150 0 50 180 0 0 0 20\ncpu0 150 0 50 0 0 0 0 0\ncpu1 0 0 0 180 0 0 0 20\nprocs_running 3\n", "pswpin 9\npswpout 0\n", "20 10", "120 30", 350, 9000)
		}
		return nil
	}
	s, err := takeSample(&reader{fsys: root, proc: "/run/host-proc"}, 2*time.Second, 10, func() time.Duration { return now }, wait)
	if err != nil {
		t.Fatal(err)
	}
	if s.Seconds != 2 || s.CPUs != 2 || s.Others != 0.85 || s.Steal != 0.05 || s.RunnableMax != 2 || s.Runnable != 1.1 ||
		*s.SwapIn != 2 || *s.SwapOut != 0 || len(s.Busy) != 2 || s.Busy[0].Busy != 1 || len(s.Top) != 1 || s.Top[0] != (ProcessShare{20, "cc", 0.75}) {
		t.Errorf("%+v", s)
	}
	if want := []CPURate{{0, 0}, {1, 125}}; !slices.Equal(s.Interrupts, want) {
		t.Errorf("interrupts %v, want %v", s.Interrupts, want)
	}
}

func TestTakeSampleLive(t *testing.T) {
	s, err := TakeSample(t.Context(), 200*time.Millisecond, "/proc")
	if err != nil {
		t.Skip(err)
	}
	if s.CPUs < 1 || s.Seconds < 0.2 || len(s.Busy) > s.CPUs || s.Others < 0 {
		t.Errorf("%+v", s)
	}
	if _, err := TakeSample(t.Context(), time.Millisecond, t.TempDir()); err == nil {
		t.Error("a directory without processes was sampled")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := TakeSample(ctx, time.Hour, "/proc"); err == nil {
		t.Error("the end of the context is ignored")
	}
}

func TestLagWindow(t *testing.T) {
	now := time.Duration(0)
	l := newLag(100, func() time.Duration { return now })
	now = 50
	w := l.Window()
	l.record(20, 40)   // over before the window
	l.record(40, 60)   // 10 of it inside
	l.record(100, 130) // 30 late
	now, l.due = 500, 300
	s := w.End() // 200 late and not yet back
	if s.Samples != 3 || s.Max != 200e-9 || s.P99 != s.Max || math.Abs(s.Mean-80e-9) > 1e-15 || s.Period != 100e-9 {
		t.Errorf("%+v", s)
	}
	l.record(300, 9000)
	if again := w.End(); again != s {
		t.Errorf("a second End gave %+v", again)
	}
	late := make([]time.Duration, 200)
	for i := range late {
		late[i] = time.Duration(200-i) * time.Millisecond
	}
	if s := lagStats(late, 1); s.P99 != 0.198 || s.Max != 0.2 {
		t.Errorf("%+v", s)
	}
	if s := lagStats(nil, time.Second); s != (LagStats{Period: 1}) {
		t.Errorf("%+v", s)
	}
}

func TestClockChange(t *testing.T) {
	a := Clocks{Realtime: 1_000_000 * time.Second, Monotonic: 10 * time.Second, Boottime: 12 * time.Second, Error: time.Microsecond}
	shift := func(real, mono, boot time.Duration) ClockChange {
		return Clocks{a.Realtime + real, a.Monotonic + mono, a.Boottime + boot, time.Microsecond}.Since(a)
	}
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name               string
		change             ClockChange
		stepped, suspended bool
	}{
		{"nothing", shift(5*s, 5*s, 5*s), false, false},
		{"forward", shift(5*s+3*ms, 5*s, 5*s), true, false},
		{"back", shift(4*s, 5*s, 5*s), true, false},
		{"below the threshold", shift(5*s+ms/2, 5*s, 5*s), false, false},
		{"suspend", shift(9*s, 5*s, 9*s), false, true},
	} {
		if c.change.Stepped(DefaultClockStep) != c.stepped || c.change.WasSuspended() != c.suspended {
			t.Errorf("%s: %+v", c.name, c.change)
		}
	}
	coarse := ClockChange{Step: 5 * ms, Error: 10 * ms}
	if coarse.Stepped(DefaultClockStep) {
		t.Error("a step within the reading's error is no evidence")
	}
}
