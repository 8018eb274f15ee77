package report

import (
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
)

// TestPhaseRows: each phase has its percentiles, as far as there are enough starts, and what was tare's own is last.
func TestPhaseRows(t *testing.T) {
	at := func(p50 float64) analyze.StartPercentiles {
		return analyze.StartPercentiles{P50: analyze.Percentile{Value: p50, Low: p50 / 2, High: 2 * p50}}
	}
	own := at(0.004)
	own.P95 = &analyze.Percentile{Value: 0.008, Low: 0.006, High: 0.009}
	res := &analyze.Result{Starts: []analyze.Start{
		{Workload: "start", Arm: "lxc", OwnAt: &own, Phases: []analyze.StartPhase{
			{Name: model.ProbePhaseSetup, StartPercentiles: at(0.002)},
			{Name: model.ProbePhaseProgram, StartPercentiles: at(0.001)}}},
		{Workload: "restore", Arm: "gvisor"},
	}}
	want := [][]string{
		{"", "phase", "p50", "p95", "p99"},
		{"lxc", "setup", "2.000 ms (1.000 … 4.000)", "", ""},
		{"lxc", "program", "1.000 ms (0.5000 … 2.000)", "", ""},
		{"lxc", "tare's own", "4.000 ms (2.000 … 8.000)", "8.000 ms (6.000 … 9.000)", ""},
	}
	if rows := texts(phaseTable(res.Starts[:1])); !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%q", rows)
	}
	names := figureNames(res.Starts[0])
	if !slices.Contains(names, "start-phase_setup-p50") || !slices.Contains(names, "start-own-p95") ||
		slices.Contains(names, "start-own-p99") {
		t.Errorf("%q", names)
	}
}

// figureNames are the figures of starts in the exports.
func figureNames(s analyze.Start) (names []string) {
	l := &figureList{}
	l.start(figureRow{}, s)
	for _, row := range l.rows {
		names = append(names, row.Name)
	}
	return names
}

// TestEndRows: stops and removals have a row each, as far as they are known, and the exports have the same figures.
func TestEndRows(t *testing.T) {
	at := func(v float64) analyze.Percentile { return analyze.Percentile{Value: v, Low: v / 2, High: 2 * v} }
	slow, ratio := at(0.08), at(3)
	remove := analyze.Ending{Percentile: at(0.04), P95: &slow, StartRatios: analyze.StartRatios{P50Ratio: &ratio}}
	all := []analyze.Start{
		{Workload: "start", Arm: "lxc", Stop: analyze.Ending{Percentile: at(0.02)}, Remove: remove},
		{Workload: "start", Arm: "qemu-tcg", Emulated: true, Remove: remove},
		{Workload: "start", Arm: "other"},
	}
	want := [][]string{
		{"", "until", "p50", "p95", "p99", "p50 × baseline", "p99 × baseline"},
		{"lxc", "stopped", "20.00 ms (10.00 … 40.00)", "", "", "", ""},
		{"lxc", "removed", "40.00 ms (20.00 … 80.00)", "80.00 ms (40.00 … 160.0)", "", "3.00× (1.50 … 6.00)", ""},
		{"qemu-tcg*", "removed", "40.00 ms (20.00 … 80.00)", "80.00 ms (40.00 … 160.0)", "", "3.00× (1.50 … 6.00)", ""},
	}
	if rows := texts(endTable(all)); !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%q", rows)
	}
	if rows := endTable(all[2:]).Rows; rows != nil {
		t.Errorf("ends that are not known: %v", rows)
	}
	names := figureNames(all[0])
	if want := []string{"stop-p50", "remove-p50", "remove-p95", "remove-p50-ratio"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
