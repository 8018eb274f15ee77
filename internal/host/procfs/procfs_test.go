package procfs

import (
	"maps"
	"math"
	"testing"
)

func TestParseStat(t *testing.T) {
	st, err := parseStat("cpu  100 1 20 3000 40 5 6 7 8 9 77\ncpu0 50 0 10 1500 20 2 3 4 0 0\ncpu7 1 2 3 4 5 6 7 8\n" +
		"intr 1 2 3\nprocs_running 3\n")
	if err != nil {
		t.Fatal(err)
	}
	want := CPUTime{1, 0.01, 0.2, 30, 0.4, 0.05, 0.06, 0.07}
	if st.Total != want || st.Running != 3 || len(st.PerCPU) != 2 || st.PerCPU[7].Steal != 0.08 {
		t.Errorf("%+v", st)
	}
	if b := st.Total.Busy(); math.Abs(b-1.32) > 1e-9 {
		t.Errorf("busy %v: guest time must not count twice", b)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4", "cpu 1 2 3 4 5 6 7 x",
		"cpu 1 2 3 4 5 6 7 -8"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if d := (CPUTime{Idle: 1, User: 5}).Sub(CPUTime{Idle: 2, User: 3}); d.Idle != 0 || d.User != 2 {
		t.Errorf("a counter that ran backwards: %+v", d)
	}
}

func TestParseProcess(t *testing.T) {
	p, err := parseProcess("42 (a) (b c) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9 11 20 0 1 0 5 6 7")
	if want := (Process{Name: "a) (b c", Seconds: 2, Reaped: 0.2, Parent: 1, Start: 5}); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = parseProcess("2 (kworker/0:1-mm) I 2 0 0 0 -1 69238880 0 0 0 0 0 7 0 0 20 0 1 0 12 0 0")
	want := Process{Name: "kworker/0:1-mm", Seconds: 0.07, Parent: 2, Start: 12, Kernel: true}
	if err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := parseProcess("42 (a) S 1 42 42 0 -1 0 100 0 0 0 150 50 9 11 20 0 1 0"); err == nil {
		t.Error("one without a start is accepted")
	}
}

func TestSizesAndCounters(t *testing.T) {
	got := Sizes("MemTotal:  16 kB\nHugePages_Total:   3\nNode 0 MemFree: 2 kB\nrubbish\nbad: x kB\nless: -1 kB\n")
	want := map[string]int64{"MemTotal": 16 << 10, "HugePages_Total": 3, "Node 0 MemFree": 2 << 10}
	if !maps.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
	got = Counters("pswpin 5\nrubbish\npswpout x\nnuma_pages_migrated 7\n")
	if want := map[string]int64{"pswpin": 5, "numa_pages_migrated": 7}; !maps.Equal(got, want) {
		t.Errorf("counters %v, want %v", got, want)
	}
}

func TestStatLive(t *testing.T) {
	if st, err := Host("").Stat(); err != nil || st.Total.Total() <= 0 || len(st.PerCPU) == 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

func FuzzStat(f *testing.F) {
	f.Add("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8\nprocs_running 2\n")
	f.Fuzz(func(t *testing.T, s string) {
		st, err := parseStat(s)
		if err == nil && (st.Total.Total() < 0 || math.IsNaN(st.Total.Total()) || st.Running < -1) {
			t.Errorf("%+v", st)
		}
	})
}

func FuzzProcess(f *testing.F) {
	f.Add("42 (a) (b c) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parseProcess(s); err == nil && p.Seconds < 0 {
			t.Errorf("%+v", p)
		}
	})
}

func FuzzInterrupts(f *testing.F) {
	f.Add("     CPU0  CPU2\n 24:  1  0  IO-APIC  5-edge  ACPI:Ged\nLOC: 1 2  Local timer interrupts\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, q := range ParseInterrupts(s) {
			if q.Number < 0 || len(q.Counts) != len(q.CPUs) || q.Total() < 0 {
				t.Errorf("%+v", q)
			}
		}
	})
}
