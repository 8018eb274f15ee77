package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tare-bench/tare/internal/host/energy"
	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
)

// counters is a tree with energy counters, and a function that sets one.
func counters(t *testing.T) (files procfs.FS, set func(zone, name, uj string)) {
	root := t.TempDir()
	set = func(zone, name, uj string) {
		dir := filepath.Join(root, "sys/class/powercap", zone)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"name": name, "max_energy_range_uj": "1000000", "energy_uj": uj} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return procfs.FS{Root: os.DirFS(root), Proc: "/proc"}, set
}

func TestEnergyOfATrial(t *testing.T) {
	files, set := counters(t)
	set("intel-rapl:0", "package-0", "900000")
	set("intel-rapl:0:0", "dram", "1000")
	set("intel-rapl:1", "psys", "1000")
	w := Start()
	defer w.Close()
	var err error
	if w.meter, err = energy.Open(files); err != nil {
		t.Fatal(err)
	}
	window := func(target Target, between func()) map[string]float64 {
		t.Helper()
		v, err := w.Begin(target)
		if err != nil {
			t.Fatal(err)
		}
		between()
		r, err := v.End()
		if err != nil {
			t.Fatal(err)
		}
		return r.Values
	}

	got := window(idle{}, func() {
		set("intel-rapl:0", "package-0", "400000")
		set("intel-rapl:0:0", "dram", "21000")
		set("intel-rapl:1", "psys", "31000")
	})
	for name, want := range map[string]float64{model.ProbeEnergyPackage: 0.5, model.ProbeEnergyDRAM: 0.02,
		model.ProbeEnergyPlatform: 0.03, model.ProbeEnergyFaults: 0} {
		if v, there := got[name]; !there || v < want-1e-9 || v > want+1e-9 {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if got[model.ProbeEnergyTime] <= 0 {
		t.Error("the energy was used in no time")
	}
	if got := window(elsewhere{}, func() {}); got[model.ProbeEnergyTime] != 0 {
		t.Errorf("a remote machine took energy of this host: %v", got)
	}
	if got := window(idle{}, func() {}); got[model.ProbeEnergyFaults] != 2 {
		t.Errorf("two counters stand still, said of %v", got[model.ProbeEnergyFaults])
	}
}

func TestAtRest(t *testing.T) {
	files, set := counters(t)
	set("intel-rapl:0", "package-0", "1000")
	set("intel-rapl:0:0", "dram", "1000")
	w := Start()
	defer w.Close()
	if text, err := (&Watch{}).AtRest(t.Context(), time.Hour); text != "" || err != nil {
		t.Errorf("a host without energy counters takes %q, %v", text, err)
	}
	var err error
	if w.meter, err = energy.Open(files); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AtRest(t.Context(), time.Millisecond); err == nil || !strings.Contains(err.Error(), "package-0") {
		t.Errorf("a package that stands still: %v", err)
	}
	synctest.Test(t, func(t *testing.T) { // the counter moves between the two readings, whatever else this host does
		go func() {
			time.Sleep(time.Second)
			set("intel-rapl:0", "package-0", "9000")
		}()
		text, err := w.AtRest(t.Context(), time.Minute)
		if err != nil || !strings.Contains(text, " W: ") || !strings.Contains(text, "stand still: package-0/dram") {
			t.Errorf("%q, %v", text, err)
		}
	})
}
