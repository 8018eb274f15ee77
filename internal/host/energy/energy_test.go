package energy

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// tree is a fake /sys, of which some files may not be read.
type tree struct {
	fstest.MapFS
	denied string // suffix of their paths
}

func (t tree) Open(name string) (fs.File, error) {
	if t.denied != "" && strings.HasSuffix(name, t.denied) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return t.MapFS.Open(name)
}

func (t tree) files() procfs.FS { return procfs.FS{Root: t, Proc: "/proc"} }

func (t tree) set(file string, value any) {
	t.MapFS[strings.TrimPrefix(file, "/")] = &fstest.MapFile{Data: fmt.Appendln(nil, value)}
}

// zone adds a counter of RAPL with a range of 1 J.
func (t tree) zone(dir, name string, value int64) {
	t.set(powercap+"/"+dir+"/name", name)
	t.set(powercap+"/"+dir+"/energy_uj", value)
	t.set(powercap+"/"+dir+"/max_energy_range_uj", 1_000_000)
}

// server has two sockets with memory, as an Intel server shows them: parts of a package beside it,
// and the first package once more.
func server() tree {
	t := tree{MapFS: fstest.MapFS{}}
	t.set(powercap+"/intel-rapl/enabled", 1)
	t.zone("intel-rapl:0", "package-0", 100)
	t.zone("intel-rapl:0:0", "core", 100)
	t.zone("intel-rapl:0:1", "dram", 100)
	t.zone("intel-rapl:1", "package-1", 999_000)
	t.zone("intel-rapl:1:0", "dram", 100)
	t.zone("intel-rapl:2", "psys", 100)
	t.zone("intel-rapl-mmio:0", "package-0", 100)
	return t
}

func names(counters []Counter) (all []string) {
	for _, c := range counters {
		all = append(all, c.Name)
	}
	return all
}

func TestFind(t *testing.T) {
	counters, err := Find(server().files())
	if want := []string{"package-0", "package-0/dram", "package-1", "package-1/dram", "psys"}; err != nil ||
		!slices.Equal(names(counters), want) {
		t.Errorf("an Intel server has the counters %v, %v; want %v", names(counters), err, want)
	}

	ryzen := tree{MapFS: fstest.MapFS{}}
	ryzen.zone("intel-rapl:0", "package-0", 1)
	ryzen.zone("intel-rapl:0:0", "core", 1)
	if counters, err = Find(ryzen.files()); err != nil || !slices.Equal(names(counters), []string{"package-0"}) {
		t.Errorf("an AMD desktop has the counters %v, %v", names(counters), err)
	}

	epyc := tree{MapFS: fstest.MapFS{}}
	epyc.set(hwmon+"/hwmon0/name", "nvme")
	epyc.set(hwmon+"/hwmon3/name", "amd_energy")
	for i, label := range []string{"Ecore000", "Esocket0", "Esocket1"} {
		epyc.set(fmt.Sprintf("%s/hwmon3/energy%d_label", hwmon, i+1), label)
		epyc.set(fmt.Sprintf("%s/hwmon3/energy%d_input", hwmon, i+1), 5000)
	}
	counters, err = Find(epyc.files())
	if err != nil || !slices.Equal(names(counters), []string{"package-0", "package-1"}) || counters[0].RangeUJ != 0 {
		t.Errorf("amd_energy has the counters %v, %v", counters, err)
	}
}

func TestFindSaysWhyNot(t *testing.T) {
	guest := tree{MapFS: fstest.MapFS{}}
	denied := server()
	denied.denied = "energy_uj"
	garbage := server()
	garbage.set(powercap+"/intel-rapl:1/energy_uj", "n/a")
	incomplete := server()
	delete(incomplete.MapFS, "sys/class/powercap/intel-rapl:0/max_energy_range_uj")
	onlyMachine := tree{MapFS: fstest.MapFS{}}
	onlyMachine.zone("intel-rapl:0", "psys", 1)
	for _, c := range []struct {
		tree
		want string
	}{
		{guest, "no processor has an energy counter"},
		{denied, "run tare as root on the host"},
		{garbage, `it has "n/a\n"`},
		{incomplete, "is incomplete"},
		{onlyMachine, "no processor has an energy counter"},
	} {
		if _, err := Open(c.files()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want one with %q", err, c.want)
		}
	}
}

// metered is a meter whose clock and counters a test sets.
func metered(t *testing.T, files tree) (m *Meter, after func(time.Duration, map[string]int64) Reading) {
	t.Helper()
	clock := time.Unix(0, 0)
	m, err := open(files.files(), func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	return m, func(d time.Duration, values map[string]int64) Reading {
		t.Helper()
		clock = clock.Add(d)
		for dir, v := range values {
			files.set(powercap+"/"+dir+"/energy_uj", v)
		}
		r, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func TestMeterAddsUpAcrossWraps(t *testing.T) {
	_, after := metered(t, server())
	begin := after(0, nil)
	for i := range int64(5) { // package-1 wraps around twice, package-0 never
		after(time.Second, map[string]int64{
			"intel-rapl:0": 100 + (i+1)*100_000, "intel-rapl:1": (999_000 + (i+1)*500_000) % 1_000_000,
			"intel-rapl:0:1": 100 + (i+1)*1000, "intel-rapl:1:0": 100 + (i+1)*1000, "intel-rapl:2": 100 + (i+1)*10_000,
		})
	}
	used := after(0, nil).Since(begin)
	want := map[Domain]float64{Package: 5*0.1 + 5*0.5, DRAM: 2 * 5 * 0.001, Platform: 5 * 0.01}
	if !maps.EqualFunc(used.Joules, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) ||
		used.Seconds != 5 || len(used.Faulty) > 0 {
		t.Errorf("used %+v, want %v in 5 s", used, want)
	}
}

func TestMeterDoesNotBelieve(t *testing.T) {
	m, after := metered(t, server())
	begin := after(0, nil)
	used := after(time.Second, map[string]int64{"intel-rapl:0": 200, "intel-rapl:1": 999_100}).Since(begin)
	want := map[Domain][]string{DRAM: {"package-0/dram", "package-1/dram"}, Platform: {"psys"}}
	if !maps.EqualFunc(used.Faulty, want, slices.Equal) {
		t.Errorf("counters that stand still: %v, want %v", used.Faulty, want)
	}
	m.Drop(used.Faulty[DRAM])
	begin = after(0, nil)
	used = after(time.Second, map[string]int64{"intel-rapl:0": 300, "intel-rapl:1": 999_200}).Since(begin)
	if _, there := used.Joules[DRAM]; there || used.Faulty[DRAM] != nil {
		t.Errorf("counters that were dropped are still read: %+v", used)
	}
}

// A counter that begins at 0 again, because the machine was asleep, has not used its whole range.
func TestMeterSeesJumps(t *testing.T) {
	files := server()
	files.set(powercap+"/intel-rapl:0/max_energy_range_uj", int64(262_143_000_000))
	files.set(powercap+"/intel-rapl:0/energy_uj", int64(90_000_000_000))
	_, after := metered(t, files)
	begin := after(0, nil)
	used := after(time.Second, map[string]int64{"intel-rapl:0": 5, "intel-rapl:1": 999_100}).Since(begin)
	if !slices.Equal(used.Faulty[Package], []string{"package-0"}) || used.Joules[Package] > 1 {
		t.Errorf("a counter that was set back: %+v", used)
	}
}

func TestMeterEnds(t *testing.T) {
	m, err := Open(server().files())
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}
