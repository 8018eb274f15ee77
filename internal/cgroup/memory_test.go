package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

func TestRollup(t *testing.T) {
	const text = `55d0c0a5b000-7ffd2a5f6000 ---p 00000000 00:00 0                          [rollup]
Rss:                3520 kB
Pss:                1001 kB
Pss_Dirty:           400 kB
Pss_Anon:            300 kB
Swap:                 70 kB
SwapPss:              30 kB
Locked:                0 kB
`
	if got := rollup(text); got != 1031<<10 {
		t.Errorf("%d bytes", got)
	}
	for _, rubbish := range []string{"", "Pss:", "Pss: x kB", "Pss: -1 kB", "Pss: 99999999999999999999 kB", "Pss: 1 MB"} {
		if got := rollup(rubbish); got != 0 {
			t.Errorf("%q: %d bytes", rubbish, got)
		}
	}
}

// TestSwapLimit: memory and swap of a group have a limit in sum with version 1, and one each with version 2.
func TestSwapLimit(t *testing.T) {
	l := layoutForTest(t)
	if err := l.countsSwap(); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		Limits
		v2, v1 int64
	}{
		{Limits{MemoryBytes: 64 << 20, SwapBytes: 16 << 20}, 16 << 20, 80 << 20},
		{Limits{MemoryBytes: 64 << 20}, 0, 64 << 20},
	} {
		g, err := l.New("swaptest", c.Limits)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Remove()
		file, want := filepath.Join(l.V2, g.Name(), "memory.swap.max"), c.v2
		if at := l.V1["memory"]; at != "" {
			file, want = filepath.Join(at, g.Name(), "memory.memsw.limit_in_bytes"), c.v1
		}
		if n, err := readNumber(file); err != nil || n != want {
			t.Errorf("%s has %d, %v; want %d", file, n, err, want)
		}
		if u, err := g.Usage(); err != nil || u.Swapped == nil || *u.Swapped != 0 {
			t.Errorf("%+v, %v", u, err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
}

func TestCountsSwap(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, l := range []Layout{{V2: two}, {V2: two, V1: map[string]string{"memory": one}}} {
		if err := l.countsSwap(); fault.KindOf(err) != fault.Host || fault.RemedyOf(err) == "" {
			t.Errorf("%s without swap: %v", l.Mode(), err)
		}
	}
	if err := os.Mkdir(filepath.Join(two, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(two, "a", "memory.swap.max"),
		filepath.Join(one, "memory.memsw.limit_in_bytes")} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []Layout{{V2: two}, {V2: two, V1: map[string]string{"memory": one}}} {
		if err := l.countsSwap(); err != nil {
			t.Errorf("%s: %v", l.Mode(), err)
		}
	}
}

// TestMemory: this process is in both hierarchies, counts once, and has memory; a process that has
// ended has none.
func TestMemory(t *testing.T) {
	g := fakeGroup(t, true)
	g.layout.V1["memory"] = t.TempDir()
	if err := os.Mkdir(filepath.Join(g.layout.V1["memory"], "tare-x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Memory(); fault.KindOf(err) != fault.Host {
		t.Errorf("without counters: %v", err)
	}
	write(t, g.layout.V1["memory"], "memory.usage_in_bytes", "4096\n")
	if m, err := g.Memory(); err != nil || m != (Memory{Charged: 4096}) {
		t.Errorf("empty: %+v, %v", m, err)
	}
	own := strconv.Itoa(os.Getpid()) + "\n"
	write(t, g.layout.V2, "cgroup.procs", own+"999999999\n")
	once, err := g.Memory()
	if err != nil || once.PSS < 1<<20 {
		t.Errorf("%+v, %v", once, err)
	}
	write(t, g.layout.V1["memory"], "cgroup.procs", own)
	if twice, err := g.Memory(); err != nil || twice.PSS > once.PSS*3/2 {
		t.Errorf("%+v, then %+v, %v", once, twice, err)
	}
}
