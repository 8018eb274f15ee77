package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkJournal measures both entries of a trial in the journal, before it and
// after it, on the disk of TMPDIR.
func BenchmarkJournal(b *testing.B) {
	const values = 20 // roughly as many as metrics and probes
	var metrics []Metric
	for i := range values {
		metrics = append(metrics, Metric{Workload: "cpu", Name: fmt.Sprint("metric", i), Unit: "s", Probe: i > 1})
	}
	r, err := Create(filepath.Join(b.TempDir(), "run.tare"), map[string][]byte{DocCampaign: []byte(`{"name":"x"}`)},
		testArms, metrics)
	must(b, err)
	defer r.Close()
	a := Attempt{Session: addSession(b, r), Workload: "cpu", Size: 64}
	o := outcome(0.1, 200)
	for i := range values {
		o.Values[i] = 0.1 * float64(i)
	}
	var before, after time.Duration
	for b.Loop() {
		a.Block++
		start := time.Now()
		ids, err := r.BeginAll([]Attempt{a})
		must(b, err)
		begun := time.Now()
		must(b, r.FinishAll(ids, []Outcome{o}))
		before, after = before+begun.Sub(start), after+time.Since(begun)
	}
	b.ReportMetric(float64(before)/float64(b.N), "before-ns")
	b.ReportMetric(float64(after)/float64(b.N), "after-ns")
}
