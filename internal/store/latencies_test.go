package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLatencies: the histograms of done trials are read in order; a run of format 3, which has no table for them, is
// read and continued without.
func TestLatencies(t *testing.T) {
	r, _ := create(t)
	read := func(r *Run) (got []string) {
		t.Helper()
		for l, err := range r.Latencies() {
			must(t, err)
			got = append(got, fmt.Sprint(l.Metric, l.Arm, l.Block, l.Guest, l.Member, " ", string(l.Encoded)))
		}
		return got
	}
	for i := range 600 {
		id := begin(t, r, i, i%2)
		o := outcome(1, 0)
		o.Latencies, o.LatencyOf = fmt.Appendf(nil, "h%d", i), 1
		if i == 1 {
			o.Status = Failed
		}
		must(t, r.Finish(id, o))
	}
	got := read(r)
	if len(got) != 599 || got[0] != "1 0 0 1 0 h0" || got[598] != "1 1 599 2 0 h599" {
		t.Errorf("%d latencies: %q … %q", len(got), got[0], got[len(got)-1])
	}

	r, path := create(t)
	_, err := r.db.Exec("DROP TABLE latency; PRAGMA user_version = 3")
	must(t, err)
	must(t, r.Close())
	older := filepath.Join(t.TempDir(), "older.tare")
	body, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(older, body, 0o600))
	r, err = Continue(t.Context(), older)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	id := begin(t, r, 0, 0)
	o := outcome(2, 0)
	o.Latencies = []byte("h")
	must(t, r.Finish(id, o))
	if got := read(r); got != nil || !slices.ContainsFunc(observations(t, r),
		func(o Observation) bool { return o.Value == 2 }) {
		t.Errorf("a run of format 3 has latencies %v", got)
	}
}
