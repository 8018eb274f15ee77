package report

import (
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// TestRestoreRows: restorations are called so, and arms whose guests were not saved are not in the table of those.
func TestRestoreRows(t *testing.T) {
	ms := func(v float64) analyze.Percentile { return analyze.Percentile{Value: v / 1e3} }
	saved := &analyze.Restored{
		Save: ms(100), Flushed: ms(150), Size: analyze.Percentile{Value: 64 << 20}, Fresh: ms(200),
		First: ms(8), Second: analyze.Percentile{Value: 0.002, Low: 0.001, High: 0.003},
		TimesFresh: &analyze.Percentile{Value: 0.25, Low: 0.2, High: 0.3},
	}
	res := &analyze.Result{Starts: []analyze.Start{
		{Workload: "restore", Arm: "qemu-tcg", Emulated: true, N: 3, StartPercentiles: analyze.StartPercentiles{P50: ms(50)},
			Restored: saved},
		{Workload: "start", Arm: "native", N: 3, StartPercentiles: analyze.StartPercentiles{P50: ms(5)}},
	}}
	rows := texts(restoreTable(res.Starts))
	want := []string{"qemu-tcg*", "100.0 ms", "150.0 ms", "64.00 MiB", "200.0 ms", "0.250× (0.200 … 0.300)", "8.000 ms",
		"2.000 ms (1.000 … 3.000)", ""}
	if len(rows) != 2 || len(rows[0]) != len(want) || !slices.Equal(rows[1], want) {
		t.Errorf("%q", rows)
	}
	if s := starts(res, "restore"); s.Parts[0].(*view.Table).Name != "restoration" || len(s.Parts) != 4 {
		t.Errorf("%+v", s)
	}
	if s := starts(res, "start"); s.Parts[0].(*view.Table).Name != "start" || len(s.Parts) != 3 {
		t.Errorf("%+v", s)
	}
}
