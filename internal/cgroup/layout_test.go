package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		want   []string
	}{
		{Layout{V2: "/c", v2On: []string{"cpu", "cpuset", "memory", "pids"}}, nil},
		{Layout{V2: "/c", v2On: []string{"cpu", "cpuset"}}, []string{"memory", "pids"}},
		{Layout{V2: "/u", V1: map[string]string{"cpu": "/1", "cpuset": "/2", "memory": "/3", "pids": "/4"}}, nil},
		{Layout{V1: map[string]string{"cpu": "/1", "memory": "/3", "pids": "/4"}},
			[]string{"cpuset", "version 2 hierarchy"}},
	} {
		if got := c.layout.Missing(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: missing %q, want %q", c.layout, got, c.want)
		}
		if err := c.layout.Check(); (err != nil) != (c.want != nil) || err != nil && fault.KindOf(err) != fault.Host {
			t.Errorf("%+v: %v", c.layout, err)
		}
	}
}

// fakeGroup is a group that consists of plain files.
func fakeGroup(t *testing.T, v1 bool) *Group {
	t.Helper()
	l := Layout{V2: t.TempDir()}
	dirs := []string{l.V2}
	if v1 {
		l.V1 = map[string]string{"cpu": t.TempDir(), "cpuacct": t.TempDir()}
		dirs = append(dirs, l.V1["cpu"], l.V1["cpuacct"])
	}
	for _, dir := range dirs {
		if err := os.Mkdir(filepath.Join(dir, "tare-x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &Group{name: "tare-x", layout: l}
}

func write(t *testing.T, dir, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "tare-x", file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestUsage(t *testing.T) {
	g := fakeGroup(t, false)
	if _, err := g.Usage(); fault.KindOf(err) != fault.Host {
		t.Errorf("without counters: %v", err)
	}
	write(t, g.layout.V2, "cpu.stat", "usage_usec 1500\nuser_usec 1000\nnr_periods 7\nnr_throttled 3\n"+
		"throttled_usec 250\nrubbish\n")
	want := Usage{CPU: 1500 * time.Microsecond, Periods: 7, ThrottledPeriods: 3, Throttled: 250 * time.Microsecond}
	if u, err := g.Usage(); err != nil || u != want {
		t.Errorf("version 2: %+v, %v", u, err)
	}
	g = fakeGroup(t, true)
	write(t, g.layout.V2, "cpu.stat", "usage_usec 1\n")
	write(t, g.layout.V1["cpu"], "cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 250000\n")
	write(t, g.layout.V1["cpuacct"], "cpuacct.usage", "1500000\n")
	if u, err := g.Usage(); err != nil || u != want {
		t.Errorf("version 1: %+v, %v", u, err)
	}
}

func TestSwapped(t *testing.T) {
	for version, g := range map[int]*Group{1: fakeGroup(t, true), 2: fakeGroup(t, false)} {
		if n := g.swapped(); n != nil {
			t.Errorf("version %d: %d bytes in swap, which no file says", version, *n)
		}
		if version == 1 {
			at := t.TempDir()
			g.layout.V1["memory"] = at
			if err := os.Mkdir(filepath.Join(at, g.name), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, at, "memory.stat", "cache 1\nswap 4096\ntotal_swap 12288\n")
		}
		write(t, g.layout.V2, "memory.swap.current", map[int]string{1: "5\n", 2: "12288\n"}[version])
		if n := g.swapped(); n == nil || *n != 12288 {
			t.Errorf("version %d: %v", version, n)
		}
	}
}

func TestFreezeThatDoesNotEnd(t *testing.T) {
	defer func(d time.Duration) { freezeTimeout = d }(freezeTimeout)
	freezeTimeout = 20 * time.Millisecond
	g := fakeGroup(t, false)
	write(t, g.layout.V2, "cgroup.events", "populated 1\nfrozen 0\n")
	if err := g.Freeze(); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "tare-x") {
		t.Errorf("%v", err)
	}
	if err := g.Thaw(); err != nil {
		t.Errorf("%v", err)
	}
}

func TestLeftovers(t *testing.T) {
	g := fakeGroup(t, true)
	if got := g.layout.Leftovers("x"); len(got) != 3 {
		t.Errorf("%q", got)
	}
	if got := g.layout.Leftovers("y"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestLimits changes the limits of a real group and of its subgroup.
func TestLimits(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	l, err := Detect()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); err != nil {
		t.Skip(err)
	}
	g, err := l.New("test-limits", Limits{CPUs: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Remove()
	if err := g.Update(Limits{CPUCap: 0.5}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range g.dirs() {
		for file, want := range map[string]string{
			"cpu.max": "50000 100000", "cpu.weight": "1000", "cpu.cfs_quota_us": "50000", "cpu.shares": "10240",
		} {
			if b, err := os.ReadFile(filepath.Join(dir, file)); err == nil && l.V2 != filepath.Dir(dir) == (len(l.V1) > 0) &&
				strings.TrimSpace(string(b)) != want {
				t.Errorf("%s/%s is %q, want %q", dir, file, b, want)
			}
		}
	}
	if at := l.V1["cpuset"]; at != "" { // as a runtime does
		all, err := os.ReadFile(filepath.Join(at, "cpuset.cpus"))
		if err != nil {
			t.Fatal(err)
		}
		for _, sub := range []string{"", leaf} {
			if err := os.WriteFile(filepath.Join(at, g.name, sub, "cpuset.cpus"), all, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Confine("0"); err != nil {
			t.Fatal(err)
		}
		for _, sub := range []string{"", leaf} {
			if b, err := os.ReadFile(filepath.Join(at, g.name, sub, "cpuset.cpus")); err != nil ||
				strings.TrimSpace(string(b)) != "0" {
				t.Errorf("CPUs of %s/%s: %q, %v", g.name, sub, b, err)
			}
		}
	}
	if err := g.Update(Limits{CPUs: "9999"}); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), g.Name()) {
		t.Errorf("CPUs that are not there: %v", err)
	}
	if err := g.Freeze(); err != nil { // empty
		t.Error(err)
	}
	left := l.Leftovers("test-limits")
	if len(left) == 0 {
		t.Error("the group is not listed")
	}
	if err := RemoveLeftovers(left); err != nil || len(l.Leftovers("test-limits")) > 0 {
		t.Errorf("removing it: %v", err)
	}
}
