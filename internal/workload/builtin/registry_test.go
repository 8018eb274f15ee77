package builtin

import (
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/workload"
)

func TestRegistry(t *testing.T) {
	names := map[string]bool{}
	for _, w := range All() {
		if names[w.Name] {
			t.Errorf("two workloads %s", w.Name)
		}
		names[w.Name] = true
		if w.Title == "" || w.Source == "" || w.SizeUnit == "" || (len(w.Programs) == 0 || len(w.Packages) == 0) &&
			!w.OwnBuild || len(w.Metrics) == 0 {
			t.Errorf("%s: something is missing: %+v", w.Name, w)
		}
		if !(0 < w.MinSize && w.MinSize <= w.DefaultSize && w.DefaultSize <= w.MaxSize) {
			t.Errorf("%s: sizes %d, %d, %d", w.Name, w.MinSize, w.DefaultSize, w.MaxSize)
		}
		metrics := map[string]workload.Metric{}
		for _, m := range w.Metrics {
			if _, twice := metrics[m.Name]; twice || m.Name == "" || m.Unit == "" || m.About == "" || m.Clock == "" ||
				m.Better == "" {
				t.Errorf("%s: metric %+v", w.Name, m)
			}
			metrics[m.Name] = m
		}
		curves := map[string]bool{}
		for _, c := range w.Curves {
			if curves[c.Name] || c.Name == "" || c.Unit == "" || c.About == "" || c.Better == "" || c.Parameter == "" ||
				len(c.At) < 2 || !slices.IsSorted(c.At) {
				t.Errorf("%s: curve %+v", w.Name, c)
			}
			curves[c.Name] = true
			for i, m := range c.Points() {
				if p, ok := model.ParsePoint(m.Name); !ok || p.Curve != c.Name || p.At != c.At[i] {
					t.Errorf("%s: point %s", w.Name, m.Name)
				}
			}
		}
		for name, m := range metrics {
			for _, suffix := range []string{workload.FlushedSuffix, workload.GuestSuffix} {
				base, found := strings.CutSuffix(name, suffix)
				if of, ok := metrics[base]; found && (!ok || of.Unit != m.Unit || of.Better != m.Better) {
					t.Errorf("%s: %s belongs to no metric %s like it", w.Name, name, base)
				}
			}
		}
		for _, size := range []int64{w.MinSize, w.DefaultSize, w.MaxSize} {
			seen, timed, drops := map[string]bool{}, false, false
			for _, s := range w.Trial(size, "192.0.2.7") {
				if seen[s.Name] || s.Name == "" || len(s.Argv) == 0 {
					t.Errorf("%s: step %+v", w.Name, s)
				}
				for _, argv := range [][]string{s.Argv, s.Ready} {
					if len(argv) > 0 && !slices.Contains(w.Programs, argv[0]) &&
						!(w.OwnBuild && strings.HasPrefix(argv[0], workload.OwnBuildPath+"/")) {
						t.Errorf("%s: %s is not in Programs", w.Name, argv[0])
					}
				}
				if s.Background && s.Timed {
					t.Errorf("%s: step %s is a server and timed", w.Name, s.Name)
				}
				if s.DropNames && (!s.DropCaches || !w.DropsHost()) {
					t.Errorf("%s: step %s drops names alone, or unnoticed", w.Name, s.Name)
				}
				seen[s.Name], timed, drops = true, timed || s.Timed, drops || s.DropCaches
			}
			if !timed || drops != w.ReadsBack {
				t.Errorf("%s: timed %v, drops caches %v, reads back %v", w.Name, timed, drops, w.ReadsBack)
			}
			if w.DiskBytes != nil && w.DiskBytes(size) <= 0 {
				t.Errorf("%s: %d bytes for size %d", w.Name, w.DiskBytes(size), size)
			}
		}
		if got, err := Get(w.Name); err != nil || got.Name != w.Name {
			t.Errorf("Get(%q): %v", w.Name, err)
		}
	}
	for word, says := range map[string]string{
		"opensl-enc": `did you mean "openssl-enc"?`,
		"fio-rand":   `did you mean "fio-randread"?`,
		"zzz":        "choose one of openssl-enc, dd-write,",
	} {
		_, err := Get(word)
		if err == nil || fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), says) {
			t.Errorf("Get(%q): %v", word, err)
		}
	}
}
