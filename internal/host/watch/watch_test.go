package watch

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

func TestTakeSample(t *testing.T) {
	root := fstest.MapFS{"run/host-proc/self": {Mode: fs.ModeSymlink, Data: []byte("10")}}
	set := func(stat, vmstat, self, other string, nvme, timer int) {
		root["proc/interrupts"] = &fstest.MapFile{Data: fmt.Appendf(nil, "      CPU0   CPU1\n"+
			"  9: 7 %d PCI-MSI 5-edge nvme0q1\n 10: 0 %d GICv3 27 Level arch_timer\nLOC: %[2]d 0 Local timer\n", nvme, timer)}
		root["proc/stat"] = &fstest.MapFile{Data: []byte(stat)}
		root["proc/vmstat"] = &fstest.MapFile{Data: []byte(vmstat)}
		const before, after = " 1 1 1 0 0 0 0 0 0 0 ", " 0 0 0 0 0 0 1"
		root["run/host-proc/10/stat"] = &fstest.MapFile{Data: []byte("10 (tare) S" + before + self + after)}
		root["run/host-proc/20/stat"] = &fstest.MapFile{Data: []byte("20 (cc) R" + before + other + after)}
	}
	set("cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\nprocs_running 1\n", "pswpin 5\npswpout 0\n",
		"0 0", "0 0", 100, 100)
	now, waits := time.Duration(0), 0
	wait := func(d time.Duration) error {
		now += d
		if waits++; waits == 10 {
			set("cpu 150 0 50 180 0 0 0 20\ncpu0 150 0 50 0 0 0 0 0\ncpu1 0 0 0 180 0 0 0 20\nprocs_running 3\n",
				"pswpin 9\npswpout 0\n", "20 10", "120 30", 350, 9000)
		}
		return nil
	}
	files := procfs.FS{Root: root, Proc: "/run/host-proc"}
	s, err := takeSample(files, 2*time.Second, func() time.Duration { return now }, wait)
	if err != nil {
		t.Fatal(err)
	}
	if s.Seconds != 2 || s.CPUs != 2 || s.Others != 0.85 || s.Steal != 0.05 || s.RunnableMax != 2 || s.Runnable != 1.1 ||
		*s.SwapIn != 2 || *s.SwapOut != 0 || len(s.Busy) != 2 || s.Busy[0] != 1 ||
		len(s.Top) != 1 || s.Top[0] != (ProcessUse{20, "cc", 0.75}) {
		t.Errorf("%+v", s)
	}
	if want := map[int]float64{0: 0, 1: 125}; !maps.Equal(s.Interrupts, want) {
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
	if longest, ok := w.End(); longest != 200 || !ok || w.wakeups != 3 { // 200 late and not yet back
		t.Errorf("%v, %v, %d", longest, ok, w.wakeups)
	}
	l.record(300, 9000)
	if longest, ok := w.End(); longest != 200 || !ok {
		t.Errorf("a second End gave %v, %v", longest, ok)
	}
	if longest, ok := l.Window().End(); ok {
		t.Errorf("no time at all gave %v", longest)
	}
}

func TestClockChange(t *testing.T) {
	a := Clocks{Realtime: 1_000_000 * time.Second, Monotonic: 10 * time.Second, Boottime: 12 * time.Second,
		Error: time.Microsecond}
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
		if c.change.Stepped() != c.stepped || c.change.WasSuspended() != c.suspended {
			t.Errorf("%s: %+v", c.name, c.change)
		}
	}
	coarse := ClockChange{Step: 5 * ms, Error: 10 * ms}
	if coarse.Stepped() {
		t.Error("a step within the reading's error is no evidence")
	}
}
