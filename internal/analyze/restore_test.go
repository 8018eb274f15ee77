package analyze

import (
	"math"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
)

// TestRestored: restorations of 50 ms of guests that took 200 ms to start, with a first pass over the memory that
// takes 4 times as long as the second; nothing of the kind is said of an arm whose guests were not saved.
func TestRestored(t *testing.T) {
	const blocks = 100
	f := newFake(3, 0, 0)
	f.Planned, f.obs = blocks, nil
	at := map[string]float64{
		restoreMetrics.fresh: 0.200, restoreMetrics.save: 0.100, restoreMetrics.flushed: 0.150,
		restoreMetrics.size: 64 << 20, restoreMetrics.first: 0.008, restoreMetrics.second: 0.002,
	}
	var names []string
	for name := range at {
		names = append(names, name)
		f.Metrics = append(f.Metrics, dataset.Metric{Workload: "cpu", Name: name, Unit: "s", Better: "lower"})
	}
	for b := range blocks {
		vary := 1 + 0.001*float64(b-blocks/2)
		for arm := range costs {
			f.add(0, arm, b, 0.050*vary)
		}
		for i, name := range names {
			f.add(2+i, kvm, b, at[name]*vary)
		}
	}
	for arm := range costs {
		f.starts(arm, 1)
	}
	res := analyze(t, f)
	if native := res.Starts[native]; native.Restored != nil {
		t.Errorf("%+v", native.Restored)
	}
	r := res.Starts[kvm].Restored
	if r == nil {
		t.Fatal("nothing is said of the saved guests")
	}
	for name, of := range map[string]struct {
		got  Percentile
		want float64
	}{
		restoreMetrics.save: {r.Save, 0.100}, restoreMetrics.flushed: {r.Flushed, 0.150},
		restoreMetrics.size: {r.Size, 64 << 20}, restoreMetrics.fresh: {r.Fresh, 0.200},
		restoreMetrics.first: {r.First, 0.008}, restoreMetrics.second: {r.Second, 0.002},
		"times fresh": {*r.TimesFresh, 0.25}, "times second": {*r.TimesSecond, 4},
	} {
		if math.Abs(of.got.Value/of.want-1) > 0.01 || of.got.Low >= of.want || of.got.High <= of.want {
			t.Errorf("%s: %+v, want %v", name, of.got, of.want)
		}
	}
}
